// A broker's state on disk: what comes back, and what damaged, foreign and full disks cost.
#include <sys/resource.h>
#include <csignal>
#include <fstream>
#include <mutex>
#include <thread>

#include "host/fleet/state_file.h"
#include "schemas/wire/content_hash.h"
#include "tests/fault/fleet_peers.h"
#include "tests/support/running_program.h"

namespace fettle::fleet {
namespace {

using std::chrono::seconds;
using testing::ScratchFolder;

class StateFileTest : public ::testing::Test {
 protected:
  ScratchFolder scratch;
  std::filesystem::path folder = std::filesystem::path(scratch.path()) / "state";
  std::mutex mutex;
  std::vector<std::string> logged;

  std::size_t told() {
    const std::lock_guard lock(mutex);
    return logged.size();
  }
  std::unique_ptr<StateFile> open() {
    auto opened = StateFile::open(folder, [this](const std::string& line) {
      const std::lock_guard lock(mutex);
      logged.push_back(line);
    });
    EXPECT_TRUE(opened.ok()) << opened.error().text();
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  static SavedSession session() {
    return {{1, 2}, {"me", wire::Role::Client, "key", {}, {}}, "pynq", "tuning", -3, 9, "a kind"};
  }
  static SavedTrial trial(std::uint64_t number) {
    return {{{1, 2}, number}, "board", share(encode(small_request(double(number)))), {}, 1};
  }
  static StoredBlob stored(const Bytes& bytes) {
    StoredBlob blob;
    for_each_piece(content_hash(bytes), bytes, [&](wire::PutBlobT piece) {
      blob.messages.push_back(pack_message(std::move(piece)));
      blob.bytes += blob.messages.back()->size();
    });
    return blob;
  }
  void fill() {
    const Bytes one(5000, 1), two(3 * limits::kPieceBytes, 2);
    auto file = open();
    file->save({session(), trial(1), trial(2), trial(3),
                SavedLease{{{1, 2}, 2},
                           ~LeaseId{0},
                           {"pynq-1", wire::Role::Agent, "agent", {}, {"*"}},
                           7,
                           "board",
                           1,
                           2,
                           milliseconds(500)},
                SavedOutcome{{{1, 2}, 3}, share({1, 2, 3})},
                SavedBlob{content_hash(one), stored(one), "key"},
                SavedBlob{content_hash(two), stored(two), "key"},
                SavedPin{{"pynq-2", wire::Role::Agent, "agent-2", {"pynq", "z2"}, {}}, "board-2"},
                SavedReservation{"board", "pynq-1", session().who, "a note", seconds(3600)},
                SavedReservation{"board-2", "pynq-2", session().who, "", seconds(60)},
                ReservationEnded{"board-2"}});
    for (std::uint64_t i = 10; i < 200; ++i) file->save({trial(i)});
  }
};

TEST_F(StateFileTest, GivesBackWhatWasSaved) {
  fill();
  auto file = open();
  const std::uint64_t instance = file->instance();
  EXPECT_NE(instance, 0u);
  const BrokerState state = file->take_state();
  EXPECT_EQ(state.instance, instance);
  ASSERT_EQ(state.sessions.size(), 1u);
  EXPECT_EQ(state.sessions[0].priority, -3);
  EXPECT_EQ(state.sessions[0].kind, "a kind");
  EXPECT_EQ(state.sessions[0].who, session().who);
  ASSERT_EQ(state.trials.size(), 192u) << "one of three has ended";
  EXPECT_EQ(*state.trials[0].request, *trial(1).request);
  ASSERT_EQ(state.leases.size(), 1u);
  EXPECT_EQ(state.leases[0].lease, ~LeaseId{0});
  EXPECT_EQ(state.leases[0].who.boards, (std::vector<std::string>{"*"}));
  EXPECT_EQ(state.leases[0].attempts, 2u);
  ASSERT_EQ(state.outcomes.size(), 1u);
  EXPECT_EQ(*state.outcomes[0].message, (Bytes{1, 2, 3}));
  ASSERT_EQ(state.pins.size(), 1u);
  EXPECT_EQ(state.pins[0].who.device_keys, (std::vector<std::string>{"pynq", "z2"}));
  ASSERT_EQ(state.reservations.size(), 1u) << "one of two has ended";
  EXPECT_EQ(state.reservations[0].board_name, "pynq-1");
  EXPECT_EQ(state.reservations[0].who, session().who);
  EXPECT_EQ(state.reservations[0].note, "a note");
  EXPECT_GT(state.reservations[0].left, seconds(3500));
  EXPECT_LE(state.reservations[0].left, seconds(3600));
  ASSERT_EQ(state.blobs.size(), 2u);
  EXPECT_EQ(state.blobs[0].blob.messages.size() + state.blobs[1].blob.messages.size(), 4u);
  file->save({SessionEnded{{1, 2}}, BlobGone{state.blobs[0].hash}});
  file.reset();
  file = open();
  const BrokerState later = file->take_state();
  EXPECT_TRUE(later.sessions.empty() && later.trials.empty() && later.outcomes.empty());
  EXPECT_EQ(later.blobs.size(), 1u);
  EXPECT_EQ(file->instance(), instance);
  EXPECT_TRUE(logged.empty()) << logged[0];
}

// As brokers wrote it before boards could be reserved, and before sessions had kinds.
TEST_F(StateFileTest, AnOlderStateIsTakenOver) {
  for (const std::string older :
       {"DROP TABLE reservations; PRAGMA user_version = 1", "PRAGMA user_version = 2"}) {
    std::filesystem::remove_all(folder);
    fill();
    {
      auto raw = records::SqliteConnection::open((folder / "broker.db").string(),
                                                 SQLITE_OPEN_READWRITE, milliseconds(100));
      ASSERT_TRUE(raw.ok());
      const std::string sql = "ALTER TABLE sessions DROP COLUMN kind; " + older;
      ASSERT_TRUE((*raw)->execute(sql.c_str()).ok());
    }
    auto file = open();
    ASSERT_TRUE(file);
    EXPECT_TRUE(logged.empty()) << logged[0];
    const BrokerState state = file->take_state();
    EXPECT_EQ(state.sessions.size(), 1u);
    EXPECT_EQ(state.trials.size(), 192u);
    EXPECT_EQ(state.sessions.at(0).kind, "");
    EXPECT_EQ(state.reservations.size(), older.starts_with("DROP") ? 0u : 1u);
    file->save({SavedReservation{"board", "pynq-1", session().who, "", seconds(60)}});
    file.reset();
    EXPECT_EQ(open()->take_state().reservations.size(), 1u);
  }
}

TEST_F(StateFileTest, OneBrokerAtATimeHasIt) {
  auto file = open();
  const auto second = StateFile::open(folder, {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::Timeout) << second.error().text();
  EXPECT_NE(second.error().text().find(folder.string()), std::string::npos);
}

// However it is damaged: it is put aside, told, and the broker starts.
TEST_F(StateFileTest, DamagedFilesArePutAside) {
  const auto database = folder / "broker.db";
  const auto damage = [&](const char* how, const std::function<void()>& done) {
    logged.clear();
    std::filesystem::remove_all(folder);
    fill();
    done();
    auto file = open();
    ASSERT_TRUE(file) << how;
    EXPECT_TRUE(file->take_state().sessions.empty()) << how;
    ASSERT_FALSE(logged.empty()) << how;
    EXPECT_NE(logged[0].find("put aside as " + database.string() + ".damaged-1"), std::string::npos)
        << logged[0];
    EXPECT_TRUE(std::filesystem::exists(database.string() + ".damaged-1")) << how;
    file->save({session()});
    file.reset();
    EXPECT_EQ(open()->take_state().sessions.size(), 1u) << how;
  };
  damage("garbage", [&] { std::ofstream(database) << std::string(100'000, 'x'); });
  damage("half of it",
         [&] { std::filesystem::resize_file(database, std::filesystem::file_size(database) / 2); });
  damage("pages of zeros", [&] {
    std::fstream file(database, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    for (int i = 0; i < 3 * 4096; ++i) file.put(0);
  });
  damage("another program's", [&] {
    std::filesystem::remove(database);
    auto other = records::SqliteConnection::open(
        database.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, milliseconds(100));
    ASSERT_TRUE((*other)->execute("CREATE TABLE t (x); INSERT INTO t VALUES (1)").ok());
  });
}

TEST_F(StateFileTest, ABlobThatIsNotWholeIsLeftOut) {
  fill();
  for (const auto& entry : std::filesystem::directory_iterator(folder / "blobs")) {
    if (entry.file_size() > 5000) std::filesystem::resize_file(entry.path(), 7000);
  }
  std::ofstream(folder / "blobs" / "half.new") << "x";
  auto file = open();
  EXPECT_EQ(file->take_state().blobs.size(), 1u);
  ASSERT_EQ(logged.size(), 1u);
  EXPECT_NE(logged[0].find("left out"), std::string::npos);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "blobs"), {}), 1);
}

TEST_F(StateFileTest, ALaterFettlesStateIsLeftAsItIs) {
  fill();
  const auto blobs = [&] {
    return std::distance(std::filesystem::directory_iterator(folder / "blobs"), {});
  };
  const auto before = blobs();
  {
    auto file = records::SqliteConnection::open((folder / "broker.db").string(),
                                                SQLITE_OPEN_READWRITE, milliseconds(100));
    ASSERT_TRUE((*file)->execute("PRAGMA user_version = 1000").ok());
  }
  auto refused = StateFile::open(folder, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::VersionMismatch);
  EXPECT_NE(refused.error().text().find("--state"), std::string::npos);
  EXPECT_EQ(blobs(), before);
}

TEST_F(StateFileTest, ABlobThatCannotBeKeptCostsNothingElse) {
  auto file = open();
  std::filesystem::remove_all(folder / "blobs");
  std::ofstream(folder / "blobs") << "no folder";
  const Bytes bytes(5000, 1);
  file->save({session(), SavedBlob{content_hash(bytes), stored(bytes), "key"}, trial(1)});
  file.reset();
  std::filesystem::remove(folder / "blobs");
  const auto state = open()->take_state();
  EXPECT_EQ(state.sessions.size(), 1u);
  EXPECT_EQ(state.trials.size(), 1u);
  EXPECT_TRUE(state.blobs.empty());
}

// The broker itself saves: it must not wait for a disk that takes nothing.
TEST_F(StateFileTest, AFullDiskHoldsNobodyUp) {
  auto opened = StateFile::open(folder, {}, 4096);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1024, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto start = Clock::now();
  for (std::uint64_t i = 0; i < 200; ++i) (*opened)->save({session(), trial(i)});
  const auto took = Clock::now() - start;
  opened->reset();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_LT(took, seconds(60));
}

// A disk that is full for a while, here by the limit of a file's size.
TEST_F(StateFileTest, WhatCouldNotBeWrittenIsWrittenLater) {
  auto file = open();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1024, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  file->save({session(), trial(1)});
  for (int i = 0; i < 2000 && told() == 0; ++i) std::this_thread::sleep_for(milliseconds(5));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  file->save({trial(2)});
  for (int i = 0; i < 2000 && told() < 2; ++i) std::this_thread::sleep_for(milliseconds(5));
  file.reset();
  ASSERT_EQ(logged.size(), 2u);
  EXPECT_NE(logged[0].find("is not kept"), std::string::npos) << logged[0];
  EXPECT_NE(logged[1].find("is kept again"), std::string::npos) << logged[1];
  const auto state = open()->take_state();
  EXPECT_EQ(state.sessions.size(), 1u);
  EXPECT_EQ(state.trials.size(), 2u);
}

}  // namespace
}  // namespace fettle::fleet
