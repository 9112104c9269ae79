// Boards that are named, and left out, for times that stand apart from their siblings'.
#include "host/fleet/drift.h"
#include "schemas/wire/content_hash.h"
#include "tests/unit/broker_fixture.h"

namespace fettle::fleet {
namespace {

const wire::Hash kProgram = content_hash(Bytes{1}), kOtherProgram = content_hash(Bytes{2});
const TimePoint kNow = TimePoint() + std::chrono::hours(1000);

Drift::Change read(Drift& drift, const std::string& board, double ns,
                   const wire::Hash& program = kProgram, TimePoint now = kNow) {
  return drift.add("pynq", program, {board, 0}, ns, now);
}

TEST(Drift, NamesWhoIsApartThreeTimesInARow) {
  for (const double time : {1300.0, 700.0}) {
    Drift drift;
    for (const char* board : {"a", "b", "c"})
      EXPECT_EQ(read(drift, board, 1000), Drift::Change::None);
    EXPECT_EQ(read(drift, "d", time), Drift::Change::None);
    EXPECT_EQ(read(drift, "d", time), Drift::Change::None);
    EXPECT_EQ(read(drift, "d", 1100), Drift::Change::None) << "no row";
    EXPECT_EQ(read(drift, "d", time), Drift::Change::None);
    EXPECT_EQ(read(drift, "d", time), Drift::Change::None);
    EXPECT_EQ(drift.of({"d", 0}), 0);
    EXPECT_EQ(read(drift, "d", time), Drift::Change::Named);
    EXPECT_NEAR(drift.of({"d", 0}), time / 1000 - 1, 1e-9);
    EXPECT_EQ(read(drift, "d", time), Drift::Change::None) << "once";
    for (const char* board : {"a", "b", "c"}) {
      EXPECT_EQ(read(drift, board, 1000), Drift::Change::None);
      EXPECT_EQ(drift.of({board, 0}), 0) << "one bad board names no good one";
    }
    EXPECT_EQ(read(drift, "d", 1000, kOtherProgram), Drift::Change::None) << "another program";
    EXPECT_EQ(read(drift, "d", 1000), Drift::Change::Cleared);
    EXPECT_EQ(drift.named(), 0u);
  }
}

TEST(Drift, TwoSiblingsSayNothing) {
  Drift drift;
  for (int i = 0; i < 10; ++i) {
    for (const char* board : {"a", "b"}) EXPECT_EQ(read(drift, board, 1000), Drift::Change::None);
    EXPECT_EQ(read(drift, "c", 5000), Drift::Change::None);
    // Another device of the same board is no sibling.
    EXPECT_EQ(drift.add("pynq", kProgram, {"a", 1}, 1000, kNow), Drift::Change::None);
  }
  // Nor are boards of another pool, or other programs.
  for (const char* board : {"d", "e", "f"}) {
    drift.add("rk3399", kProgram, {board, 0}, 1000, kNow);
    read(drift, board, 1000, kOtherProgram);
  }
  for (int i = 0; i < 5; ++i) EXPECT_EQ(read(drift, "c", 5000), Drift::Change::None);
}

TEST(Drift, WhatIsReadNoMoreIsForgotten) {
  Drift drift;
  for (const char* board : {"a", "b", "c"}) read(drift, board, 1000);
  for (int i = 0; i < 3; ++i) read(drift, "d", 2000);
  ASSERT_EQ(drift.named(), 1u);
  EXPECT_TRUE(drift.take_forgotten(kNow + Drift::kForgetIn / 2).empty());
  read(drift, "d", 2000, kProgram, kNow + Drift::kForgetIn / 2);
  EXPECT_TRUE(drift.take_forgotten(kNow + Drift::kForgetIn).empty());
  EXPECT_EQ(drift.take_forgotten(kNow + 2 * Drift::kForgetIn).size(), 1u);
  EXPECT_EQ(drift.named(), 0u);
}

TEST(Drift, NonsenseIsNoReading) {
  Drift drift;
  for (const char* board : {"a", "b", "c"}) read(drift, board, 1000);
  for (int i = 0; i < 5; ++i) {
    for (const double time : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity()}) {
      EXPECT_EQ(read(drift, "d", time), Drift::Change::None);
    }
  }
}

// The broker: trials that name their board are the readings.
class DriftTest : public BrokerTest {
 protected:
  void boards(bool emulated) {
    for (std::uint64_t i = 0; i < 4; ++i) {
      auto hello = agent_hello(1 + i, "board-" + std::to_string(i), "pynq", 1);
      hello.devices.at(0)->emulated = emulated;
      say(peer(i), kAgent, std::move(hello));
    }
    client("c", 10);
    open("c", 5);
    take<wire::SessionOpenedT>("c");
  }
  static PeerId peer(std::uint64_t board) { return "a" + std::to_string(board); }
  // The same program on that board, as a check sends it.
  void check(std::uint64_t board, double ns) {
    wire::SubmitT request;
    request.session = 5;
    request.trial = next_++;
    request.request = encode(small_request(42));
    request.board_id = "board-" + std::to_string(board);
    say("c", kClient, std::move(request));
    const auto leases = assigned(peer(board));
    ASSERT_EQ(leases.size(), 1u) << "a board that is left out is checked all the same";
    done(peer(board), leases[0], measured(ns));
  }
  void night(double ns_of_3) {
    for (std::uint64_t board = 0; board < 4; ++board) check(board, board == 3 ? ns_of_3 : 1000);
  }
  std::vector<BrokerEventKind> told() {
    std::vector<BrokerEventKind> kinds;
    for (const auto& event : core.take_events()) {
      if (event.kind == BrokerEventKind::BoardDrifts ||
          event.kind == BrokerEventKind::BoardSteady) {
        EXPECT_EQ(event.board_id, "board-3");
        kinds.push_back(event.kind);
      }
    }
    return kinds;
  }
  std::uint64_t next_ = 1000;
};

TEST_F(DriftTest, ABoardIsNamedAndStaysIn) {
  boards(false);
  for (int i = 0; i < 2; ++i) night(1500);
  EXPECT_TRUE(told().empty());
  night(1500);
  EXPECT_EQ(told(), std::vector<BrokerEventKind>{BrokerEventKind::BoardDrifts});
  const auto list = core.device_list(now);
  EXPECT_NEAR(list.keys.at(0)->standings.at(3)->drift, 0.5, 1e-9);
  EXPECT_FALSE(list.keys.at(0)->standings.at(3)->left_out);
  EXPECT_EQ(list.keys.at(0)->standings.at(0)->drift, 0);
  for (std::uint64_t i = 0; i < 4; ++i) submit("c", 5, i);
  EXPECT_EQ(assigned("a3").size(), 1u) << "named only";
}

TEST_F(DriftTest, ABoardIsLeftOutAndTakenBack) {
  core.leave_out_drifting();
  boards(false);
  for (int i = 0; i < 3; ++i) night(1500);
  EXPECT_EQ(told(), std::vector<BrokerEventKind>{BrokerEventKind::BoardDrifts});
  EXPECT_EQ(take<wire::SessionOpenedT>("c").back().boards, 3u);
  EXPECT_TRUE(core.device_list(now).keys.at(0)->standings.at(3)->left_out);
  for (std::uint64_t i = 0; i < 4; ++i) submit("c", 5, i);
  EXPECT_TRUE(assigned("a3").empty()) << "idle, though a trial waits";
  check(3, 1500);
  EXPECT_TRUE(assigned("a3").empty());
  check(3, 1010);
  EXPECT_EQ(told(), std::vector<BrokerEventKind>{BrokerEventKind::BoardSteady});
  EXPECT_EQ(assigned("a3").size(), 1u) << "at once";
}

TEST_F(DriftTest, EmulatedTimeIsNoBoards) {
  core.leave_out_drifting();
  boards(true);
  for (int i = 0; i < 6; ++i) night(5000);
  EXPECT_TRUE(told().empty());
  for (std::uint64_t i = 0; i < 4; ++i) submit("c", 5, i);
  EXPECT_EQ(assigned("a3").size(), 1u);
}

TEST_F(DriftTest, ATrialForAnyBoardIsNoReading) {
  boards(false);
  for (int i = 0; i < 6; ++i) {
    for (std::uint64_t trial = 0; trial < 4; ++trial) submit("c", 5, next_++);
    for (std::uint64_t board = 0; board < 4; ++board) {
      for (const LeaseId lease : assigned(peer(board))) {
        done(peer(board), lease, measured(board == 3 ? 9000 : 1000));
      }
    }
  }
  EXPECT_TRUE(told().empty());
}

}  // namespace
}  // namespace fettle::fleet
