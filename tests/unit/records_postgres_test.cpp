// Records on a PostgreSQL server: the same answers as from a file, whatever the texts, and what is
// said of a server or a database that will not do.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <sstream>
#include <thread>

#include "host/records/export.h"
#include "host/records/queries.h"
#include "host/records/tables.h"
#include "tests/unit/decimal_comma.h"
#include "tests/unit/records_stores.h"

namespace fettle::records {
namespace {

using fettle::testing::PostgresServer;
using test::censored;
using test::failed;
using test::Kind;
using test::measured;
using test::open_or_die;
using test::Stores;
using test::text_of;

class RecordsPostgres : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = PostgresServer::why_none(); !why.empty()) GTEST_SKIP() << why;
    server = &PostgresServer::shared();
    name = server->make_database();
    url = server->url(name);
  }
  static Error refusal(const std::string& url, const OpenOptions& how = {}) {
    auto opened = Database::open(url, how);
    EXPECT_FALSE(opened.ok()) << url;
    return opened.ok() ? Error{} : opened.error();
  }
  static void expect_in(const std::string& part, const std::string& text) {
    EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in\n" << text;
  }

  PostgresServer* server = nullptr;
  std::string name, url;
  OpenOptions reading{.read_only = true, .create = false};
};

// Records of several tasks, devices and sessions, with all that queries look at, in no order.
void fill(Database& database, unsigned seed) {
  std::mt19937 random(seed);
  const auto any = [&](int below) { return static_cast<int>(random() % unsigned(below)); };
  for (const bool emulated : {false, true}) {
    wire::BoardT board;
    wire::DeviceInfoT device;
    board.id = emulated ? "qemu" : "board-1";
    device.key = "local";
    device.index = 1;
    device.emulated = emulated;
    ASSERT_DONE(database.register_device(board, device));
  }
  ASSERT_DONE(database.put_calibration({"local", "board-1", 1, 2, 5, {{"fma_gflops_all", 9.125}}}));
  for (int i = 0; i < 400; ++i) {
    TuningRecord record =
        any(4) == 0   ? failed(any(60), any(2) == 0 ? ErrorCode::Crash : ErrorCode::WrongAnswer,
                             any(2) == 0 ? wire::Stage::Run : wire::Stage::Check,
                               "message " + std::to_string(i))
        : any(5) == 0 ? censored(any(60), 1 + any(1000) / 7.0)
                      : measured(any(60), 1 + any(1000) / 7.0);
    record.unix_ms += 1000 * i;
    record.session = any(2) == 0 ? "5e55" : "07e6";
    record.workload = "{\"op\":\"" + std::string(1, static_cast<char>('a' + any(5))) + "\"}";
    record.target = any(3) == 0 ? "{}" : record.target;
    record.reused = any(9) == 0;
    if (any(3) == 0) record.board_id = record.outcome.board_id = "qemu";
    if (any(4) == 0) record.device_key = "Pynq";
    if (wire::MeasurementT* m = record.outcome.body.AsMeasurement(); m != nullptr) {
      if (any(4) == 0) m->clock = wire::ClockDomain::Instructions;
      if (any(3) == 0) m->weights_bytes = 1'000'000;
    }
    ASSERT_DONE(database.insert(record));
  }
}

std::string answers(const Database& database) {
  std::ostringstream out;
  std::vector<Filter> filters(8);
  filters[1].device_key = "local";
  filters[2].emulated = true;
  filters[3].cold_weights = true;
  filters[4].cold_weights = false;
  filters[5].clock = wire::ClockDomain::Instructions;
  filters[6].measured_only = true;
  filters[6].after_id = 123;
  filters[7].session = "07e6";
  filters[7].workload = "{\"op\":\"c\"}";
  for (const Filter& filter : filters) {
    EXPECT_TRUE(export_lines(database, filter, out).ok());
    for (const auto& records : {best(database, filter, 3), fewest_instructions(database, filter, 2),
                                history(database, filter)}) {
      EXPECT_TRUE(records.ok()) << records.error().text();
      for (const TuningRecord& record : *records) out << record.id << text_of(record) << "\n";
    }
    const auto counts = count(database, filter);
    EXPECT_TRUE(counts.ok()) << counts.error().text();
    out << counts->trials << " " << counts->measured << " " << counts->censored << "\n";
    for (const Cause& cause : counts->causes) {
      out << cause.stage << cause.code << cause.count << cause.example << "\n";
    }
    const auto tasks = summaries(database, filter);
    EXPECT_TRUE(tasks.ok()) << tasks.error().text();
    for (const TaskSummary& task : *tasks) {
      out << task.workload << task.target << task.device_key << task.trials << " " << task.measured
          << " " << task.failed << " " << task.best_id << task.best_nanoseconds.value_or(-1)
          << "\n";
    }
  }
  const auto settled =
      measured_configurations(database, "{\"op\":\"a\"}", measured(1, 1).target, "local");
  EXPECT_TRUE(settled.ok());
  for (const std::string& one : *settled) out << one << "\n";
  for (int i = 0; i < 60; ++i) {
    const auto found =
        find_program(database, measured(i, 1).program_hash, "{\"op\":\"b\"}", "local");
    EXPECT_TRUE(found.ok());
    if (*found) out << (*found)->id << "\n";
  }
  return out.str();
}

TEST_F(RecordsPostgres, AnswersAreThoseOfAFile) {
  Stores folder(Kind::Sqlite);
  Database file = open_or_die(folder.file("a.db")), served = open_or_die(url);
  fill(file, 1);
  fill(served, 1);
  const std::string expected = answers(file);
  EXPECT_GT(expected.size(), 1'000'000u);
  EXPECT_TRUE(answers(served) == expected);
  // And as a copy of a copy.
  std::ostringstream lines;
  ASSERT_TRUE(export_lines(served, {}, lines).ok());
  std::istringstream in(lines.str());
  Database copy = open_or_die(folder.file("b.db"));
  ASSERT_DONE(import_lines(copy, in, "lines"));
  EXPECT_TRUE(answers(copy) == expected);
}

TEST_F(RecordsPostgres, NumbersAreReadWholeUnderADecimalComma) {
  const fettle::testing::DecimalComma comma;
  ASSERT_TRUE(comma.there());
  Database database = open_or_die(url);
  TuningRecord record = measured(1, 12.25);
  record.confirmed_nanoseconds = 11.75;
  const auto id = database.insert(record);
  ASSERT_TRUE(id.ok()) << id.error().text();
  const auto read = database.get(*id);
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(text_of(*read), text_of(record));
  EXPECT_EQ(read->confirmed_nanoseconds, 11.75);
}

TEST_F(RecordsPostgres, TextsOfAnyBytesComeBack) {
  Database database = open_or_die(url);
  TuningRecord record = failed(1, ErrorCode::Crash, wire::Stage::Run, std::string("a\0b\xff", 4));
  record.configuration = std::string("\0\xc3(\xed\xa0\x80", 6);
  record.workload = std::string("w\0", 2);
  record.target = "\xfe\xff";
  const auto id = database.insert(record);
  ASSERT_TRUE(id.ok()) << id.error().text();
  EXPECT_EQ(*database.insert(record), *id) << "the same trial";
  TuningRecord other = record;
  other.configuration = std::string("\0\xc3(\xed\xa0\x81", 6);
  EXPECT_NE(*database.insert(other), *id) << "another one";
  const auto read = database.get(*id);
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->configuration, record.configuration);
  EXPECT_EQ(read->workload, record.workload);
  EXPECT_EQ(read->target, record.target);
  Filter filter;
  filter.workload = record.workload;
  filter.cold_weights = true;  // looks into the outcome's JSON, where NUL is \u0000
  EXPECT_EQ(count(database, filter)->causes.at(0).example, std::string("a\0b\xff", 4));
}

TEST_F(RecordsPostgres, LongTextsThatDoNotCompressAreKept) {
  Database database = open_or_die(url);
  std::mt19937 random(3);
  TuningRecord record = measured(1, 10);
  record.workload.clear();
  while (record.workload.size() < 100'000) record.workload += std::to_string(random());
  record.configuration = record.target = record.workload;
  const auto id = database.insert(record);
  ASSERT_TRUE(id.ok()) << id.error().text();
  EXPECT_EQ(*database.insert(record), *id);
  EXPECT_EQ(database.get(*id)->workload, record.workload);
}

// A statement is begun while another one's rows still come.
TEST_F(RecordsPostgres, RowsAreReadWhileOthersAreAskedFor) {
  Database database = open_or_die(url);
  std::vector<TuningRecord> records;
  for (int i = 0; i < 2000; ++i) records.push_back(measured(i, 10 + i));
  ASSERT_DONE(database.insert(records));
  int seen = 0;
  ASSERT_DONE(database.for_each({}, [&](const TuningRecord& record) {
    if (++seen % 500 == 1) {
      EXPECT_EQ(database.get(record.id)->id, record.id);
      EXPECT_TRUE(database.insert(measured(5000 + seen, 1)).ok());
    }
    return true;
  }));
  EXPECT_EQ(seen, 2000);
  seen = 0;
  ASSERT_DONE(database.for_each({}, [&](const TuningRecord&) { return ++seen < 7; }));
  EXPECT_EQ(count(database, {})->trials, 2004) << "what was left unread is in nobody's way";
}

TEST_F(RecordsPostgres, ManyOpenersOfAnEmptyDatabaseMakeItsTablesOnce) {
  std::vector<std::thread> openers;
  std::atomic<int> opened = 0;
  for (int i = 0; i < 8; ++i) {
    openers.emplace_back([&, i] {
      Result<Database> database = Database::open(url);
      EXPECT_TRUE(database.ok()) << database.error().text();
      if (database && database->insert(measured(i, 1)).ok()) ++opened;
    });
  }
  for (std::thread& opener : openers) opener.join();
  EXPECT_EQ(opened, 8);
  EXPECT_EQ(server->execute("SELECT count(*) FROM fettle_schema", name), "1");
  EXPECT_EQ(count(open_or_die(url), {})->trials, 8);
}

TEST_F(RecordsPostgres, AnEarlierVersionIsBroughtToThisOneOnce) {
  const std::string old_text =
      R"({"batch":1,"dtype":"float32","in_features":64,"op":"dense","out_features":32,"tail":[]})";
  {
    Database database = open_or_die(url);
    TuningRecord record = measured(1, 10);
    record.workload = old_text;
    ASSERT_DONE(database.insert(record));
  }
  server->execute(
      "ALTER TABLE workloads DROP COLUMN title, DROP COLUMN source; "
      "ALTER TABLE trials DROP COLUMN confirmed_ns; "
      "UPDATE fettle_schema SET version = 1",
      name);
  const Error error = refusal(url, reading);
  EXPECT_EQ(error.code, ErrorCode::VersionMismatch);
  expect_in("has schema version 1, this fettle reads version 3", error.text());
  std::vector<std::thread> openers;
  for (int i = 0; i < 4; ++i) {
    openers.emplace_back([&] { EXPECT_TRUE(Database::open(url).ok()); });
  }
  for (std::thread& opener : openers) opener.join();
  const auto read = open_or_die(url, reading).get(1);
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->source, old_text);
  EXPECT_NE(read->workload, old_text) << "its DAG";
}

TEST_F(RecordsPostgres, WhatItCannotUseIsSaidAndLeftAlone) {
  EXPECT_EQ(refusal(url, reading).code, ErrorCode::NotFound) << "no tables, and none made";
  expect_in("holds no records", refusal(url, reading).text());
  open_or_die(url);
  server->execute("UPDATE fettle_schema SET version = 99", name);
  for (const OpenOptions& how : {OpenOptions{}, reading}) {
    const Error newer = refusal(url, how);
    EXPECT_EQ(newer.code, ErrorCode::VersionMismatch);
    expect_in("use the newer fettle", newer.text());
  }
  const std::string other = server->make_database();
  server->execute("CREATE TABLE trials (court TEXT)", other);
  const Error foreign = refusal(server->url(other));
  EXPECT_EQ(foreign.code, ErrorCode::VersionMismatch);
  expect_in("a table 'trials' that is not fettle's", foreign.text());
  EXPECT_EQ(server->execute("SELECT count(*) FROM trials", other), "0");
  server->execute("CREATE SCHEMA team AUTHORIZATION owner", other);
  EXPECT_TRUE(Database::open(server->url(other) + "?options=-csearch_path%3Dteam").ok());

  const Error none = refusal(server->url("no_such"));
  EXPECT_EQ(none.code, ErrorCode::NotFound);
  expect_in("the server has no database 'no_such'", none.text());
  server->execute("DROP DATABASE IF EXISTS latin");
  server->execute(
      "CREATE DATABASE latin OWNER owner ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE "
      "template0");
  const Error latin = refusal(server->url("latin"));
  EXPECT_EQ(latin.code, ErrorCode::Unsupported);
  expect_in("keeps its texts as LATIN1", latin.text());
}

// Says what `reply` is to whoever connects.
class FakeServer {
 public:
  explicit FakeServer(std::string reply) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    (void)::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    (void)::listen(listener_, 8);
    (void)::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, reply = std::move(reply)] {
      for (int at; (at = ::accept(listener_, nullptr, nullptr)) >= 0;) {
        char asked[512];
        (void)!::read(at, asked, sizeof asked);
        (void)!::write(at, reply.data(), reply.size());
        (void)!::read(at, asked, sizeof asked);
        ::close(at);
      }
    });
  }
  ~FakeServer() {
    ::shutdown(listener_, SHUT_RDWR);
    ::close(listener_);
    thread_.join();
  }
  std::string url() const {
    return "postgresql://u@127.0.0.1:" + std::to_string(port_) + "/d?sslmode=disable";
  }

 private:
  int listener_, port_ = 0;
  std::thread thread_;
};

TEST(RecordsFakeServer, ServersThatAreTooOldOrNoneAreTold) {
  using namespace std::string_literals;
  const FakeServer old(
      "R\0\0\0\10\0\0\0\0"                    // let in
      "S\0\0\0\32server_version\0009.6.24\0"  // which one it is
      "S\0\0\0\31server_encoding\0UTF8\0"
      "Z\0\0\0\5I"s);
  const auto refused = Database::open(old.url());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::VersionMismatch) << refused.error().text();
  EXPECT_NE(refused.error().text().find("PostgreSQL 9.6.24, fettle needs 12"), std::string::npos)
      << refused.error().text();
  const FakeServer web("HTTP/1.1 400 Bad Request\r\n\r\n");
  EXPECT_EQ(Database::open(web.url()).error().code, ErrorCode::Unreachable);
  std::string gone;
  {
    const FakeServer soon_gone("");
    gone = soon_gone.url();
  }
  const auto nobody = Database::open(gone);
  ASSERT_FALSE(nobody.ok());
  EXPECT_EQ(nobody.error().code, ErrorCode::Unreachable);
  EXPECT_NE(nobody.error().text().find("cannot be reached"), std::string::npos)
      << nobody.error().text();
}

}  // namespace
}  // namespace fettle::records
