// What the agent does as a service: signs of life for its manager, a key pair of its
// own, and several devices in its configuration file.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "agent/server/broker_link.h"
#include "agent/server/notify.h"
#include "agent/server/options.h"

namespace fettle::agent {
namespace {

// A service manager's end: a datagram socket in the abstract space.
class Manager {
 public:
  Manager() : name_("fettle-notify-" + std::to_string(getpid())) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name_.data(), name_.size());
    fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size());
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), length), 0);
  }
  ~Manager() { close(fd_); }
  std::string variable() const { return "@" + name_; }
  // The next datagram, "" when there is none.
  std::string next() const {
    char text[512];
    const ssize_t n = recv(fd_, text, sizeof text, MSG_DONTWAIT);
    return n > 0 ? std::string(text, static_cast<std::size_t>(n)) : "";
  }

 private:
  std::string name_;
  int fd_;
};

TEST(ServiceNotifier, SpeaksTheManagersProtocolAndLeavesNothingToWorkers) {
  const Manager manager;
  setenv("NOTIFY_SOCKET", manager.variable().c_str(), 1);
  setenv("WATCHDOG_USEC", "30000000", 1);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  auto service = ServiceNotifier::from_environment();
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) {
    EXPECT_EQ(std::getenv(name), nullptr) << name;
  }
  EXPECT_EQ(service.watchdog_interval_ns(), 15'000'000'000u);
  service.ready("dialling tcp://b:1");
  ServiceNotifier moved = std::move(service);
  moved.alive();
  moved.stopping();
  EXPECT_EQ(manager.next(), "READY=1\nSTATUS=dialling tcp://b:1");
  EXPECT_EQ(manager.next(), "WATCHDOG=1");
  EXPECT_EQ(manager.next(), "STOPPING=1\nSTATUS=stopping");
}

TEST(ServiceNotifier, AnothersWatchdogAndNoManagerAreSilent) {
  const Manager manager;
  setenv("NOTIFY_SOCKET", manager.variable().c_str(), 1);
  setenv("WATCHDOG_USEC", "30000000", 1);
  setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(ServiceNotifier::from_environment().watchdog_interval_ns(), 0u);
  for (const char* nowhere : {"", "@", "relative", "/nonexistent/socket"}) {
    setenv("NOTIFY_SOCKET", nowhere, 1);
    setenv("WATCHDOG_USEC", "30000000", 1);
    auto none = ServiceNotifier::from_environment();
    EXPECT_EQ(none.watchdog_interval_ns(), 0u) << nowhere;
    none.ready("x");  // goes nowhere, and does no harm
  }
  EXPECT_EQ(manager.next(), "");
}

TEST(MakeKey, RootMakesItForTheFoldersOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const auto folder =
      std::filesystem::temp_directory_path() / ("fettle-root-key-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  ASSERT_EQ(chown(folder.c_str(), 4321, 8765), 0);
  const std::string path = folder / "agent.key";
  EXPECT_TRUE(make_key_file(path).ok());
  struct stat status{};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 4321u);
  EXPECT_EQ(status.st_gid, 8765u);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  std::filesystem::remove_all(folder);
}

TEST(MakeKey, OncePerBoardAndForItsUserOnly) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("fettle-keys-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = folder / "agent.key";
  umask(0);
  const auto made = make_key_file(path), again = make_key_file(path);
  ASSERT_TRUE(made.ok() && again.ok());
  EXPECT_EQ(*made, *again) << "a second installation must not change the board's key";
  struct stat status{};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  AgentOptions options;
  options.key_file = path;
  const auto pair = load_key_pair(options);
  ASSERT_TRUE(pair.ok());
  EXPECT_EQ(pair->public_key, *made);
  EXPECT_FALSE(make_key_file("/nonexistent/agent.key").ok());
  chmod(path.c_str(), 0644);
  EXPECT_FALSE(make_key_file(path).ok()) << "a pair that others can read is not this board's alone";
  std::filesystem::remove_all(folder);
}

std::string joined(const std::string& text) {
  const auto words = options_of_config(text, "f");
  if (!words) return words.error().text();
  std::string all;
  for (const auto& word : *words) all += word + " ";
  return all;
}

TEST(ConfigurationFile, TablesOfDevices) {
  EXPECT_EQ(joined("broker = \"tcp://b:1\"\nmemory-limit = 64\n"
                   "[[device]]\ndevice-cores = [4, 5]\nkey = \"big\"\n"
                   "[[device]] # the slow ones\nkey = \"little\"\nthreads = 2\n"),
            "--broker=tcp://b:1 --memory-limit=64 --key=big --device-cores=4,5 --key=little "
            "--threads=2 ");
  // Order of the file where no table is.
  EXPECT_EQ(joined("threads = 2\nkey = \"a\"\n"), "--threads=2 --key=a ");
  EXPECT_NE(joined("[device]\n").find("f line 1"), std::string::npos);
}

TEST(ConfigurationFile, ThePackagesOwnNeedsABrokerOnly) {
  const std::string config = FETTLE_AGENT_TOML;
  const auto as_shipped = parse_options({"--config", config, "--check-config"});
  ASSERT_FALSE(as_shipped.ok());
  EXPECT_NE(as_shipped.error().text().find("--broker is needed"), std::string::npos);
  const auto told = parse_options({"--config", config, "--check-config", "--broker", "tcp://b:1",
                                   "--broker-key", "k", "--key", "pynq"});
  ASSERT_TRUE(told.ok()) << told.error().text();
  EXPECT_EQ(told->key_file, "/var/lib/fettle/agent.key");
  EXPECT_EQ(told->mode, AgentOptions::Mode::CheckConfig);
}

}  // namespace
}  // namespace fettle::agent
