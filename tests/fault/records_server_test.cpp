// Sessions whose PostgreSQL server goes away and comes back: nothing is lost, nothing counted
// twice.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <sstream>
#include <thread>

#include "host/records/export.h"
#include "host/records/queries.h"
#include "tests/support/postgres_server.h"
#include "tests/unit/records_sample.h"

namespace fettle::records {
namespace {

using fettle::testing::PostgresServer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::measured;
using test::open_or_die;

class RecordsServer : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = PostgresServer::why_none(); !why.empty()) GTEST_SKIP() << why;
    server = &PostgresServer::shared();
    url = server->url(server->make_database());
  }
  void restart(milliseconds away, bool by_crash) {
    by_crash ? server->kill() : server->stop();
    std::this_thread::sleep_for(away);
    server->start();
  }
  PostgresServer* server = nullptr;
  std::string url;
};

TEST_F(RecordsServer, SixSessionsOneServer) {
  constexpr int kSessions = 6, kTrials = 150;
  open_or_die(url);
  std::atomic<int> stored = 0, told = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kSessions; ++i) {
    threads.emplace_back([&, i] {
      OpenOptions how;
      how.say = [&](const std::string& line) {
        if (line.find("waiting for the record database 'postgresql://owner@") == 0) ++told;
      };
      Database database = open_or_die(url, how);
      Session session;
      session.session = std::to_string(i);
      ASSERT_DONE(database.begin_session(session));
      for (int n = 0; n < kTrials; ++n) {
        TuningRecord record = measured(n, 10 + n);
        record.session = session.session;
        ASSERT_DONE(database.insert(record));
        ++stored;
      }
      ASSERT_DONE(database.end_session(session.session, SessionState::Finished, "", 1));
    });
  }
  for (const int at : {100, 300, 500}) {
    while (stored < at) std::this_thread::sleep_for(milliseconds(1));
    restart(milliseconds(1500), at != 300);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stored, kSessions * kTrials);
  EXPECT_GE(told, kSessions) << "each has said that it waits";
  const Database database = open_or_die(url, {.read_only = true, .create = false});
  EXPECT_EQ(count(database, {})->trials, kSessions * kTrials);
  for (int i = 0; i < kSessions; ++i) {
    Filter filter;
    filter.session = std::to_string(i);
    EXPECT_EQ(count(database, filter)->trials, kTrials) << i;
  }
  EXPECT_EQ(summaries(database, {})->size(), 1u) << "one row for the task that all share";
  EXPECT_EQ(database.devices()->size(), 1u);
  const auto sessions = database.sessions();
  ASSERT_TRUE(sessions.ok());
  EXPECT_EQ(sessions->size(), 6u);
  for (const Session& session : *sessions) {
    EXPECT_EQ(session.state, SessionState::Finished);
  }
}

// Between a session and its server; cuts both off at the COMMIT that it is told to wait for.
class Cutter {
 public:
  enum class Where { No, BeforeIt, BehindIt };

  explicit Cutter(int to) : to_(to) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = at(0);
    socklen_t size = sizeof address;
    (void)::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    (void)::listen(listener_, 8);
    (void)::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      for (int client; (client = ::accept(listener_, nullptr, nullptr)) >= 0;) pass(client);
    });
  }
  ~Cutter() {
    ::shutdown(listener_, SHUT_RDWR);
    ::close(listener_);
    thread_.join();
  }
  int port() const { return port_; }
  void cut(Where where) { where_ = where; }
  int cuts() const { return cuts_; }

 private:
  static sockaddr_in at(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }
  // One connection, to its end.
  void pass(int client) {
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = at(to_);
    (void)::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    for (bool open = true, last = false; open;) {
      pollfd both[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
      (void)::poll(both, 2, 1000);
      for (const int side : {0, 1}) {
        if (!open || both[side].revents == 0) continue;
        char bytes[65536];
        const ssize_t n = ::read(both[side].fd, bytes, sizeof bytes);
        if (n <= 0 || (side == 1 && last)) {
          open = false;
          continue;
        }
        const std::string_view text(bytes, static_cast<std::size_t>(n));
        if (side == 0 && where_ != Where::No && text.find("COMMIT") != text.npos) {
          last = true;
          ++cuts_;
          if (where_.exchange(Where::No) == Where::BeforeIt) open = false;
        }
        if (open) (void)!::write(both[1 - side].fd, bytes, text.size());
      }
    }
    ::close(client);
    ::close(server);
  }

  int to_, listener_, port_ = 0;
  std::atomic<Where> where_ = Where::No;
  std::atomic<int> cuts_ = 0;
  std::thread thread_;
};

TEST_F(RecordsServer, ACommitWhoseAnswerWasLostCountsOnce) {
  Cutter cutter(server->port());
  const std::string database_name = url.substr(url.rfind('/') + 1);
  Database database = open_or_die("postgresql://owner@127.0.0.1:" + std::to_string(cutter.port()) +
                                  "/" + database_name);
  int n = 0;
  for (const Cutter::Where where : {Cutter::Where::BehindIt, Cutter::Where::BeforeIt}) {
    Session session;
    session.session = std::to_string(n);
    cutter.cut(where);
    ASSERT_DONE(database.begin_session(session));
    std::vector<TuningRecord> records;
    for (int i = 0; i < 3; ++i) records.push_back(measured(n++, 10));
    cutter.cut(where);
    const auto added = database.insert(records);
    ASSERT_TRUE(added.ok()) << added.error().text();
    EXPECT_EQ(*added, 3u) << "new, though it may have been done twice";
    cutter.cut(where);
    const auto id = database.insert(measured(n++, 10));
    ASSERT_TRUE(id.ok()) << id.error().text();
    EXPECT_EQ(database.get(*id)->configuration, measured(n - 1, 10).configuration);
    cutter.cut(where);
    ASSERT_DONE(database.put_calibration({"local", "board-1", 1, 1, n, {{"x", 1}}}));
    cutter.cut(where);
    ASSERT_DONE(database.end_session(session.session, SessionState::Finished, "", 1));
    // All that import keeps between its rows begins anew.
    std::ostringstream lines;
    ASSERT_DONE(export_lines(database, {}, lines));
    std::string text = lines.str();
    for (std::size_t at = 0; (at = text.find("\"5e55\"", at)) != std::string::npos;) {
      text.replace(at, 6, "\"" + std::to_string(n) + "\"");
    }
    std::istringstream in(text);
    cutter.cut(where);
    const auto imported = import_lines(database, in, "lines");
    ASSERT_TRUE(imported.ok()) << imported.error().text();
    EXPECT_EQ(imported->added, 4u * (where == Cutter::Where::BehindIt ? 1 : 2));
  }
  EXPECT_EQ(cutter.cuts(), 12);
  EXPECT_EQ(count(database, {})->trials, 8 + 4 + 8);
  EXPECT_EQ(database.calibrations()->size(), 2u);
  EXPECT_EQ(database.sessions()->at(0).state, SessionState::Finished);
}

TEST_F(RecordsServer, AServerThatStaysAwayIsWaitedForSoLong) {
  OpenOptions brief;
  brief.server_wait = seconds(2);
  std::vector<std::string> lines;
  std::mutex mutex;
  brief.say = [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    lines.push_back(line);
  };
  Database database = open_or_die(url, brief);
  std::atomic<bool> interrupted = false;
  OpenOptions patient;
  patient.give_up = [&] { return interrupted.load(); };
  Database other = open_or_die(url, patient);
  ASSERT_DONE(database.insert(measured(1, 10)));
  server->stop();
  const auto start = std::chrono::steady_clock::now();
  const auto stored = database.insert(measured(2, 10));
  const auto waited = std::chrono::steady_clock::now() - start;
  ASSERT_FALSE(stored.ok());
  EXPECT_EQ(stored.error().code, ErrorCode::Unreachable);
  EXPECT_NE(stored.error().text().find("--resume goes on"), std::string::npos)
      << stored.error().text();
  EXPECT_GE(waited, seconds(2));
  EXPECT_LT(waited, seconds(30));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].find("waiting for the record database"), 0u) << lines[0];
  std::thread interrupt([&] {
    std::this_thread::sleep_for(milliseconds(500));
    interrupted = true;
  });
  EXPECT_EQ(other.insert(measured(3, 10)).error().code, ErrorCode::Canceled);
  interrupt.join();
  server->start();
  // Both go on where they were.
  interrupted = false;
  ASSERT_DONE(database.insert(measured(2, 10)));
  ASSERT_DONE(other.insert(measured(3, 10)));
  EXPECT_EQ(count(other, {})->trials, 3);
}

// A reader that has begun to read.
TEST_F(RecordsServer, AReaderIsToldOfRowsThatDoNotCome) {
  Database database = open_or_die(url);
  std::vector<TuningRecord> records;
  for (int i = 0; i < 3000; ++i) records.push_back(measured(i, 10));
  ASSERT_DONE(database.insert(records));
  int seen = 0;
  const auto read = database.for_each({}, [&](const TuningRecord&) {
    if (++seen == 1) server->kill();
    return true;
  });
  server->start();
  EXPECT_TRUE(read ? seen == 3000 : read.error().code == ErrorCode::Unreachable) << seen;
  EXPECT_EQ(count(database, {})->trials, 3000);
}

// Somebody keeps the tables locked: that is told, and ends.
TEST_F(RecordsServer, AnotherSessionsLockIsWaitedFor) {
  OpenOptions brief;
  brief.lock_wait = milliseconds(200);
  std::atomic<int> told = 0;
  brief.say = [&](const std::string& line) {
    if (line.find("locked by another session") != std::string::npos) ++told;
  };
  Database database = open_or_die(url, brief), importer = open_or_die(url);
  std::thread importing([&] {
    ASSERT_DONE(importer.atomically([&]() -> Result<void> {
      if (auto put = importer.insert(measured(1, 10)); !put) return put.error();
      std::this_thread::sleep_for(seconds(1));
      return {};
    }));
  });
  std::this_thread::sleep_for(milliseconds(300));
  ASSERT_DONE(database.insert(measured(2, 10)));
  importing.join();
  EXPECT_GE(told, 1);
  EXPECT_EQ(count(database, {})->trials, 2);
}

}  // namespace
}  // namespace fettle::records
