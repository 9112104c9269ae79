// What a broker says of itself: lines of an audit log, and its numbers.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

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
  EXPECT_EQ(lines(old), 2);
  EXPECT_EQ(lines(file), 1);
  EXPECT_EQ(AuditLog::open(folder / "none" / "audit").error().code, ErrorCode::Io);
  std::filesystem::remove_all(folder);
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

}  // namespace
}  // namespace fettle::fleet
