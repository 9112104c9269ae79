// What a broker says of itself: lines of an audit log, and its numbers.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "host/fleet/audit_log.h"
#include "host/fleet/broker_status.h"

namespace fettle::fleet {
namespace {

BrokerEvent rejected(const std::string& text) {
  BrokerEvent event;
  event.kind = BrokerEventKind::PeerRejected;
  event.name = "laptop";
  event.text = text;
  return event;
}

TEST(Audit, ALineIsOneObjectWhateverAPeerSays) {
  const std::string line = audit_line(rejected("\x1b[31mred\n{\"event\":\"forged\"} \xff\xc3\xa4"));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  for (const char c : line) EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 0x7f)) << int(c);
  const auto object = nlohmann::json::parse(line);
  EXPECT_EQ(object["event"], "peer-rejected");
  EXPECT_EQ(object["name"], "laptop");
  EXPECT_FALSE(object.contains("session"));
  EXPECT_NE(object["text"].get<std::string>().find("\x1b[31mred\n"), std::string::npos);
}

TEST(Audit, AMovedFileIsOpenedAgain) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("fettle_audit_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const auto file = folder / "audit.jsonl", old = folder / "audit.1";
  auto log = AuditLog::open(file);
  ASSERT_TRUE(log.ok()) << log.error().text();
  EXPECT_EQ(std::filesystem::status(file).permissions() & std::filesystem::perms(0777),
            std::filesystem::perms(0600));
  const auto lines = [](const std::filesystem::path& path) {
    std::ifstream in(path);
    int count = 0;
    for (std::string line; std::getline(in, line);) ++count;
    return count;
  };
  (*log)->write(rejected("one"));
  std::filesystem::rename(file, old);
  (*log)->write(rejected("two"));
  ASSERT_TRUE((*log)->reopen().ok());
  (*log)->write(rejected("three"));
  log->reset();  // which writes what waits
  EXPECT_EQ(lines(old), 2);
  EXPECT_EQ(lines(file), 1);
  EXPECT_EQ(AuditLog::open(folder / "none" / "audit").error().code, ErrorCode::Io);
  std::filesystem::remove_all(folder);
}

TEST(Audit, AReaderWhoDoesNotReadStopsNobody) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ASSERT_GE(fcntl(ends[1], F_SETPIPE_SZ, 4096), 4096);
  std::string read;
  {
    LineWriter writer(ends[1], [](std::uint64_t lost) { return std::to_string(lost) + " lost\n"; });
    const std::string line(1023, 'x');
    for (int i = 0; i < 2000; ++i) writer.write(line + "\n");  // two mebibytes: one waits
    EXPECT_GT(writer.lost(), 900u);
    EXPECT_LT(writer.lost(), 1000u);
    std::thread reader([&] {
      char some[4096];
      for (ssize_t n; (n = ::read(ends[0], some, sizeof some)) > 0;)
        read.append(some, static_cast<std::size_t>(n));
    });
    for (int i = 0; i < 1000 && writer.waiting() > 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    writer.write("last\n");
    writer.move_to(-1);  // which closes the pipe
    reader.join();
  }
  ::close(ends[0]);
  EXPECT_NE(read.find(" lost\n"), std::string::npos);
  EXPECT_TRUE(read.ends_with("last\n"));
}

TEST(Audit, AFullDiskIsToldOfOnceThereIsRoom) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  const auto file = std::filesystem::temp_directory_path() / ("lines." + std::to_string(getpid()));
  {
    LineWriter writer(full, [](std::uint64_t lost) { return std::to_string(lost) + " lost\n"; });
    for (int i = 0; i < 3; ++i) writer.write("gone\n");
    writer.move_to(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    EXPECT_EQ(writer.lost(), 3u);
    writer.write("here\n");
  }
  std::ifstream in(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "3 lost\nhere\n");
  std::filesystem::remove(file);
}

TEST(Status, HasTheSameNumbersInBothForms) {
  BrokerStatus status;
  status.endpoint = "tcp://127.0.0.1:1";
  status.leases = 7;
  status.counters.submitted = 41;
  status.clients.push_back({"lap\"top", "key", 1, 2, 3, 4, 5, 6});
  const auto object = nlohmann::json::parse(to_json(status));
  EXPECT_EQ(object["leases"], 7);
  EXPECT_EQ(object["submitted"], 41);
  EXPECT_EQ(object["clients"][0]["name"], "lap\"top");
  const std::string text = to_prometheus(status);
  EXPECT_NE(text.find("\n# TYPE fettle_broker_leases gauge\nfettle_broker_leases 7\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("fettle_broker_submitted_total 41\n"), std::string::npos);
}

TEST(Status, TellsOfBuildsByVersionAndOfBoardsByState) {
  BrokerStatus status;
  status.boards[static_cast<std::size_t>(DeviceState::Busy)] = 3;
  status.builds = {{"0.1.0-ab", 2, 2, 5, 1}};
  for (const char* name : {"a\"} 1\nevil 2", "", "a\\b"})
    status.builds.push_back({name, 0, 0, 9, 1});
  const auto object = nlohmann::json::parse(to_json(status));
  EXPECT_EQ(object["devices"],
            (nlohmann::json{{"free", 0}, {"busy", 3}, {"resting", 0}, {"away", 0}}));
  EXPECT_EQ(object["builds"][0], (nlohmann::json{{"version", "0.1.0-ab"},
                                                 {"builders", 2},
                                                 {"busy", 2},
                                                 {"waiting", 3},
                                                 {"wanted", 5},
                                                 {"sessions", 1}}));
  const std::string text = to_prometheus(status);
  for (const char* line :
       {"# TYPE fettle_broker_devices gauge\n", "fettle_broker_devices{state=\"busy\"} 3\n",
        "# TYPE fettle_broker_builds_wanted "
        "gauge\nfettle_broker_builds_wanted{version=\"0.1.0-ab\"} 5\n",
        "fettle_broker_builds_waiting{version=\"0.1.0-ab\"} 3\n",
        "fettle_broker_builds_builders{version=\"0.1.0-ab\"} 2\n",
        "fettle_broker_builds_busy{version=\"0.1.0-ab\"} 2\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  EXPECT_EQ(text.find("evil"), std::string::npos) << "what a client calls a version is no metric";
  EXPECT_EQ(text.find(" 9\n"), std::string::npos) << text;
}

TEST(Status, VersionsThatNobodyBuildsDoNotCrowdOutThoseThatAreBuilt) {
  BrokerStatus status;
  for (int i = 0; i < 500; ++i) status.builds.push_back({"a" + std::to_string(i), 0, 0, 1, 1});
  status.builds.push_back({"z", 1, 0, 0, 0});
  const std::string text = to_prometheus(status);
  EXPECT_NE(text.find("fettle_broker_builds_builders{version=\"z\"} 1\n"), std::string::npos);
  EXPECT_LT(text.size(), 40'000u);
}

}  // namespace
}  // namespace fettle::fleet
