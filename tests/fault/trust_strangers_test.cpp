// What those who have no key can do to a broker: little, and not for long.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "agent/platform/owned_fd.h"
#include "host/fleet/broker_question.h"
#include "host/fleet/open_connections.h"
#include "tests/fault/fleet_peers.h"

namespace fettle::fleet {
namespace {

using agent::OwnedFd;
using std::chrono::seconds;

// A broker in a process of its own, whose memory and time can be read.
class BrokerProcess {
 public:
  BrokerProcess(const KeyPair& keys, const std::string& client_key, rlim_t most_files) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      const rlimit files{most_files, most_files};
      setrlimit(RLIMIT_NOFILE, &files);
      BrokerOptions options;
      options.keys = keys;
      options.allowed = {{"client", wire::Role::Client, client_key, {}, {}}};
      auto broker = Broker::start(std::move(options));
      if (!broker) _exit(1);
      const std::string where = (*broker)->endpoint() + "\n";
      (void)!write(ends[1], where.data(), where.size());
      for (;;) pause();
    }
    close(ends[1]);
    char text[128] = {};
    EXPECT_GT(read(ends[0], text, sizeof text - 1), 0) << "no broker";
    close(ends[0]);
    endpoint_ = std::string(text).substr(0, std::string(text).find('\n'));
  }
  ~BrokerProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  const std::string& endpoint() const { return endpoint_; }
  std::uint16_t port() const {
    return static_cast<std::uint16_t>(std::stoi(endpoint_.substr(endpoint_.rfind(':') + 1)));
  }
  double resident_mib() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/statm");
    double size = 0, resident = 0;
    file >> size >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
  }
  double cpu_seconds() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
    std::string field;
    double ticks = 0, value = 0;
    for (int i = 1; i <= 15 && file >> field; ++i) {
      if (i >= 14) std::sscanf(field.c_str(), "%lf", &value), ticks += value;
    }
    return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }

 private:
  pid_t pid_ = -1;
  std::string endpoint_;
};

// Raises this process' own limit: the other ends of the connections are its own.
void open_many_files() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

OwnedFd dial(std::uint16_t port) {
  OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  (void)connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
  return fd;
}

// ZMTP 3.1's greeting of a CURVE client (RFC 37), and the beginning of a frame of so many bytes.
std::string greeting_and_frame(std::uint64_t bytes) {
  std::string text("\xff\0\0\0\0\0\0\0\x01\x7f\x03\x01", 12);
  text += std::string("CURVE").append(15, '\0');
  text.resize(64, '\0');
  text += '\x02';  // a long message
  for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(bytes >> shift & 0xff);
  return text;
}

bool welcomes(const BrokerProcess& broker, const KeyPair& broker_keys, const KeyPair& keys,
              seconds within) {
  const BrokerAddress address{broker.endpoint(), broker_keys.public_key, keys};
  return list_devices(address, within).ok();
}

TEST(Trust, PreAuthGiantFrames) {
  open_many_files();
  const KeyPair broker_keys = new_keys(), client = new_keys();
  const BrokerProcess broker(broker_keys, client.public_key, 4096);
  ASSERT_TRUE(welcomes(broker, broker_keys, client, seconds(5)));
  const double before = broker.resident_mib();
  std::vector<OwnedFd> strangers;
  std::vector<std::string> left;  // what each still has to say
  const auto add = [&](std::uint64_t announced, std::size_t said) {
    strangers.push_back(dial(broker.port()));
    left.push_back(greeting_and_frame(announced) + std::string(said, 'x'));
  };
  for (int i = 0; i < 30; ++i) add(100 << 20, 8 << 20);
  // As large as a message may be, all but its last byte.
  for (int i = 0; i < 400; ++i) add(limits::kSocketBytes - 1, limits::kSocketBytes - 2);
  double most = before;
  const auto start = Clock::now();
  while (Clock::now() - start < seconds(4)) {
    for (std::size_t i = 0; i < strangers.size(); ++i) {
      const ssize_t n = send(strangers[i].get(), left[i].data(),
                             std::min<std::size_t>(left[i].size(), 1 << 18), MSG_NOSIGNAL);
      if (n > 0) left[i].erase(0, static_cast<std::size_t>(n));
    }
    most = std::max(most, broker.resident_mib());
  }
  std::printf("             resident: %.0f MiB before, %.0f at most\n", before, most);
  EXPECT_LT(most - before, 64) << "MiB, of 860 that were sent";
  EXPECT_TRUE(welcomes(broker, broker_keys, client, seconds(10)));
}

TEST(Trust, IdleStrangersLockNobodyOut) {
  open_many_files();
  const KeyPair broker_keys = new_keys(), client = new_keys();
  const BrokerProcess broker(broker_keys, client.public_key, 1024);
  ASSERT_TRUE(welcomes(broker, broker_keys, client, seconds(5)));
  const double before = broker.cpu_seconds();
  const auto start = Clock::now();
  std::vector<OwnedFd> strangers;
  for (int i = 0; i < 1100; ++i) strangers.push_back(dial(broker.port()));
  EXPECT_TRUE(welcomes(broker, broker_keys, client, seconds(5))) << "a known client was locked out";
  std::this_thread::sleep_for(seconds(3) - (Clock::now() - start) % seconds(3));
  const double spent = broker.cpu_seconds() - before;
  const double passed = std::chrono::duration<double>(Clock::now() - start).count();
  std::printf("             the broker took %.2f s of a core in %.1f s\n", spent, passed);
  EXPECT_LT(spent, 0.5 * passed);
}

// Takes all descriptors that there are, for the life of this object.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{256, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    while (files_.size() < few.rlim_cur) {
      OwnedFd one(open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (!one) break;
      files_.push_back(std::move(one));
    }
  }
  ~NoMoreFiles() { setrlimit(RLIMIT_NOFILE, &before_); }
  bool taken() const { return !files_.empty() && !OwnedFd(open("/dev/null", O_RDONLY)); }

 private:
  rlimit before_{};
  std::vector<OwnedFd> files_;
};

TEST(Trust, FdExhaustionThenRevoke) {
  const KeyPair broker_keys = new_keys(), kept = new_keys(), revoked = new_keys();
  const auto folder =
      std::filesystem::temp_directory_path() / ("fettle_revoke_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const auto file = folder / "allowed";
  ASSERT_TRUE(allow_key(file, {"kept", wire::Role::Client, kept.public_key, {}, {}}).ok());
  ASSERT_TRUE(allow_key(file, {"revoked", wire::Role::Client, revoked.public_key, {}, {}}).ok());
  BrokerOptions options;
  options.keys = broker_keys;
  options.allow_file = file;
  std::mutex telling;
  std::vector<std::string> lines;
  options.log = [&](const std::string& line) {
    const std::lock_guard hold(telling);
    lines.push_back(line);
  };
  auto broker = Broker::start(std::move(options));
  ASSERT_TRUE(broker.ok()) << broker.error().text();
  const auto let_in = [&](const KeyPair& keys, seconds within) {
    return list_devices({(*broker)->endpoint(), (*broker)->public_key(), keys}, within).ok();
  };
  ASSERT_TRUE(let_in(revoked, seconds(5)));
  // The list that lacks it, put in the place of the other while nothing can be opened.
  const auto next = folder / "next";
  std::filesystem::copy_file(file, next);
  ASSERT_TRUE(revoke_key(next, "revoked").ok());
  {
    const NoMoreFiles none;
    ASSERT_TRUE(none.taken());
    std::filesystem::rename(next, file);
    std::this_thread::sleep_for(seconds(3));
  }
  EXPECT_FALSE(let_in(revoked, seconds(2))) << "its revocation was lost";
  EXPECT_TRUE(let_in(kept, seconds(5)));
  (*broker)->stop();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "read the allow list " + file.string()), 1);
  std::filesystem::remove_all(folder);
}

// What it says cannot be known: those who talk already go on, nobody is let in anew.
TEST(Trust, AnUnreadableListLetsNobodyInAnew) {
  const KeyPair broker_keys = new_keys(), kept = new_keys();
  const auto folder =
      std::filesystem::temp_directory_path() / ("fettle_unreadable_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const auto file = folder / "allowed";
  ASSERT_TRUE(allow_key(file, {"kept", wire::Role::Client, kept.public_key, {}, {}}).ok());
  BrokerOptions options;
  options.keys = broker_keys;
  options.allow_file = file;
  auto broker = Broker::start(std::move(options));
  ASSERT_TRUE(broker.ok()) << broker.error().text();
  const auto let_in = [&](seconds within) {
    return list_devices({(*broker)->endpoint(), (*broker)->public_key(), kept}, within).ok();
  };
  ASSERT_TRUE(let_in(seconds(5)));
  const auto right = folder / "right";
  std::filesystem::copy_file(file, right);
  std::ofstream(file) << "client laptop\n";
  EXPECT_FALSE(let_in(seconds(2)));
  std::filesystem::rename(right, file);
  EXPECT_TRUE(let_in(seconds(10)));
  (*broker)->stop();
  std::filesystem::remove_all(folder);
}

TEST(OpenConnections, TheOldestUnprovenGoesFirst) {
  OpenConnections open({.unproven = 4, .unproven_of_address = 2, .of_key = 2});
  EXPECT_FALSE(open.accepted(10, "a"));
  EXPECT_FALSE(open.accepted(11, "a"));
  EXPECT_EQ(open.accepted(12, "a"), 10);  // two of an address
  EXPECT_FALSE(open.proven(12, "key"));
  EXPECT_FALSE(open.accepted(13, "a")) << "the proven one does not count";
  EXPECT_FALSE(open.accepted(20, "b"));
  EXPECT_FALSE(open.accepted(30, "c"));
  EXPECT_EQ(open.unproven(), 4u);
  EXPECT_EQ(open.accepted(40, "d"), 11) << "of the address that has most";
  open.gone(30);
  EXPECT_FALSE(open.accepted(30, "e")) << "the descriptor is another's now";
  EXPECT_FALSE(open.proven(13, "key"));
  EXPECT_EQ(open.proven(20, "key"), 12) << "two of a key";
  EXPECT_FALSE(open.proven(99, "key")) << "never accepted";
  open.gone(99);
  for (const int fd : {13, 20, 30, 40}) open.gone(fd);
  EXPECT_EQ(open.all(), 0u);
  EXPECT_EQ(open.unproven(), 0u);
}

}  // namespace
}  // namespace fettle::fleet
