// What a live page knows of a fleet: curves, causes, shares; all of it bounded.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "host/web/event_text.h"
#include "host/web/fleet_history.h"
#include "host/web/session_history.h"

namespace fettle::web {
namespace {

using fleet::TimePoint;
using std::chrono::milliseconds;

TEST(BestCurve, KeepsTheFirstAndTheBestOfAnyNumber) {
  BestCurve curve;
  for (int i = 0; i < 100'000; ++i) {
    curve.add(i, 1e6 - i);
    curve.add(i, 2e6);  // no better
    ASSERT_LE(curve.points().size(), BestCurve::kMost);
  }
  EXPECT_EQ(curve.first(), 1e6);
  EXPECT_EQ(curve.best(), 1e6 - 99'999);
  for (std::size_t i = 1; i < curve.points().size(); ++i) {
    EXPECT_GT(curve.points()[i].first, curve.points()[i - 1].first);
    EXPECT_LT(curve.points()[i].second, curve.points()[i - 1].second);
  }
  curve.add(1e6, 0);
  curve.add(1e6, -1);
  EXPECT_EQ(curve.best(), 1e6 - 99'999) << "no time is 0 or less";
}

TEST(Recent, SpreadsWorkOverTheStepsThatItTook) {
  Recent recent;
  recent.spent(1005, 1025);
  const auto shares = recent.shares(1000, 1030);
  ASSERT_EQ(shares.size(), 3u) << "a step that has just begun says nothing";
  EXPECT_NEAR(shares[0], 0.5, 1e-9);
  EXPECT_NEAR(shares[1], 1, 1e-9);
  EXPECT_NEAR(shares[2], 0.5, 1e-9);
  EXPECT_NEAR(recent.last_minute(1000, 1030), 20.0 / 30, 1e-9);
  // Ten minutes later it is forgotten, though its places are used again.
  for (double share : recent.shares(1000, 1700)) EXPECT_EQ(share, 0);
  EXPECT_EQ(recent.last_minute(1000, 1700), 0);
}

TEST(Recent, AnAgentsWordForMoreThanAllTimeIsAllTime) {
  Recent recent;
  recent.spent(-1e12, 1010);
  recent.spent(-1e12, 1010);
  for (double share : recent.shares(1000, 1009.9)) EXPECT_LE(share, 1);
  EXPECT_LE(recent.last_minute(1000, 1010), 1);
}

// A fleet of our own making.
class History : public ::testing::Test {
 protected:
  fleet::FleetView view;
  FleetHistory history;

  History() { view.now = TimePoint() + std::chrono::hours(2); }
  void board(const std::string& id, fleet::DeviceState state = fleet::DeviceState::Free) {
    fleet::DeviceView device;
    device.name = "name of " + id;
    device.board_id = id;
    device.key = "pynq";
    device.state = state;
    device.depth = 2;
    view.devices.push_back(device);
  }
  void session(std::uint64_t number, const std::string& name) {
    view.sessions.push_back({number, name, "client", "pynq", 3});
  }
  fleet::TrialEnded& trial(std::uint64_t session, std::uint64_t task) {
    fleet::TrialEnded& ended = view.ended.emplace_back();
    ended.session = session;
    ended.task = task;
    ended.board_id = "one";
    ended.ended = view.now;
    return ended;
  }
  // What is there stays, what ended is told of once.
  void pass(milliseconds time) {
    view.now += time;
    for (auto& ended : view.ended) ended.ended = view.now;
    history.add(view);
    view.ended.clear();
  }
};

TEST_F(History, TellsTasksApartAndFollowsTheBest) {
  board("one");
  session(7, "resnet18");
  pass(milliseconds(0));
  for (const double value : {4e6, 5e6, 2e6}) {
    trial(7, 11).value = value;
    pass(milliseconds(1000));
  }
  trial(7, 22).value = 1e3;
  auto& lost = trial(7, 22);
  lost.cause = "Run Crash";
  lost.message = "signal 11";
  trial(8, 11).value = 1;  // of a session that nobody knows
  pass(milliseconds(1000));
  const auto page = history.page();
  ASSERT_EQ(page["sessions"].size(), 1u);
  const auto& seen = page["sessions"][0];
  EXPECT_EQ(seen["name"], "resnet18");
  EXPECT_EQ(seen["trials"], 5);
  EXPECT_EQ(seen["failed"], 1);
  ASSERT_EQ(seen["tasks"].size(), 2u);
  EXPECT_EQ(seen["tasks"][0]["curve"], nlohmann::json::parse("[[1.0, 4e6], [3.0, 2e6]]"));
  EXPECT_EQ(seen["tasks"][1]["trials"], 2);
  EXPECT_EQ(
      seen["failures"],
      nlohmann::json::parse(R"([{"cause": "Run Crash", "count": 1, "message": "signal 11"}])"));
  EXPECT_EQ(page["boards"][0]["trials"], 6) << "a board's trials count whosever they are";
}

TEST_F(History, TellsWhoHasABoardAndWhichOneDrifts) {
  board("one");
  board("two");
  view.devices[0].reserved_for = "alice";
  view.devices[0].reserved_note = "<b>paper</b>";
  view.devices[0].reserved_s = 7200;
  view.devices[1].drift = 0.31234;
  view.devices[1].left_out = true;
  session(7, "resnet18");
  view.sessions[0].priority = -3;
  view.sessions[0].weight = 4;
  pass(milliseconds(1000));
  const auto page = history.page();
  EXPECT_EQ(page["boards"][0]["reserved_for"], "alice");
  EXPECT_EQ(page["boards"][0]["reserved_s"], 7200);
  EXPECT_EQ(page["boards"][0]["reserved_note"], "<b>paper</b>") << "the page makes it text";
  EXPECT_FALSE(page["boards"][0].contains("drift"));
  EXPECT_FALSE(page["boards"][1].contains("reserved_for"));
  EXPECT_EQ(page["boards"][1]["drift"], 0.312);
  EXPECT_EQ(page["boards"][1]["left_out"], true);
  EXPECT_EQ(page["sessions"][0]["priority"], -3);
  EXPECT_EQ(page["sessions"][0]["weight"], 4);
}

TEST_F(History, BoardsHaveTheirStateHeatAndShareOfWork) {
  board("one", fleet::DeviceState::Busy);
  board("two", fleet::DeviceState::Resting);
  pass(milliseconds(0));
  for (int i = 0; i < 30; ++i) {
    auto& ended = trial(7, 1);
    ended.busy_ns = 500'000'000;
    ended.temperature = 40 + i;
    pass(milliseconds(1000));
  }
  auto page = history.page();
  EXPECT_EQ(page["boards"][0]["state"], "busy");
  EXPECT_NEAR(page["boards"][0]["busy"].get<double>(), 0.5, 0.03);
  EXPECT_EQ(page["boards"][0]["celsius"], 69.0);
  EXPECT_EQ(page["boards"][1]["state"], "resting");
  EXPECT_FALSE(page["boards"][1].contains("celsius"));

  view.devices.pop_back();
  pass(milliseconds(20'000));
  page = history.page();
  ASSERT_EQ(page["boards"].size(), 2u) << "a board that is gone is still named";
  EXPECT_EQ(page["boards"][1]["state"], "gone");
  EXPECT_EQ(page["boards"][1]["silent_s"], 20);
  pass(std::chrono::hours(2));
  EXPECT_EQ(history.page()["boards"].size(), 1u) << "but not for ever";
}

TEST_F(History, SessionsThatEndedStayForAWhile) {
  for (std::uint64_t i = 1; i <= 40; ++i) {
    session(i, "session " + std::to_string(i));
    pass(milliseconds(1000));
    view.sessions.clear();
  }
  pass(milliseconds(1000));
  const auto page = history.page();
  ASSERT_EQ(page["sessions"].size(), FleetHistory::kEndedSessions);
  EXPECT_EQ(page["sessions"][0]["name"], "session 40");
  EXPECT_TRUE(page["sessions"][0]["ended"]);
}

TEST_F(History, WhatPeersMakeUpIsBounded) {
  for (int i = 0; i < 2000; ++i) board("board " + std::to_string(i));
  for (std::uint64_t i = 0; i < 1000; ++i) session(i, std::string(200, 'x'));
  pass(milliseconds(1000));
  for (int round = 0; round < 60; ++round) {
    for (std::uint64_t i = 0; i < 4000; ++i) {
      auto& ended = trial(i % 40, i);
      ended.value = 1e9 - round;
      if (i % 3 == 0) ended.cause = "cause " + std::to_string(i);
    }
    pass(milliseconds(1000));
  }
  const auto page = history.page();
  EXPECT_EQ(page["boards"].size(), FleetHistory::kDevices);
  EXPECT_EQ(page["more_boards"], 2000 - FleetHistory::kDevices);
  EXPECT_EQ(page["more_sessions"], 1000 - page["sessions"].size());
  for (const auto& one : page["sessions"]) {
    EXPECT_LE(one["tasks"].size(), SessionHistory::kTasks);
    EXPECT_LE(one["failures"].size(), SessionHistory::kCauses);
  }
  EXPECT_LT(event_text(page).size(), std::size_t{2} << 20);
}

TEST_F(History, BytesThatAreNoTextTravelAsText) {
  board("\xff\xfe<script>\n");
  session(1, "\xc3(\x1b[31m");
  pass(milliseconds(1000));
  const std::string text = event_text(history.page());
  EXPECT_EQ(text.find('\n'), std::string::npos) << "an event is one line";
  EXPECT_TRUE(nlohmann::json::parse(text).is_object());
}

TEST(SessionHistory, GoesOnFromTheBestOfEarlierSessions) {
  SessionHistory history;
  history.name(0, "dense", 1000);
  history.go_on(0, 100, "ns");
  nlohmann::json told = nlohmann::json::object();
  history.write(told, 5, 64);
  EXPECT_EQ(told["tasks"][0]["curve"], nlohmann::json::parse("[[0.0, 100.0]]"));
  EXPECT_EQ(told["tasks"][0]["gflops"], 10);
  EXPECT_EQ(history.trials(), 0u) << "it is no trial of this session";
  history.add({.task = 0, .value = 120, .cause = "", .message = ""}, 6);
  history.add({.task = 0, .value = 50, .cause = "", .message = ""}, 7);
  history.write(told, 8, 64);
  EXPECT_EQ(told["tasks"][0]["curve"], nlohmann::json::parse("[[0.0, 100.0], [7.0, 50.0]]"));
}

}  // namespace
}  // namespace fettle::web
