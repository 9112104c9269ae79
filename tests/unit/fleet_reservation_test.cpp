// Boards that are one key's alone: who may reserve and release, and what the others get.
#include "host/fleet/durations.h"
#include "tests/unit/broker_fixture.h"

namespace fettle::fleet {
namespace {

using std::chrono::seconds;

const Permission kThird{"pynq-3", wire::Role::Agent, "third-key"};

class ReservationTest : public BrokerTest {
 protected:
  wire::BoardAnswerT reserve(const PeerId& peer, const std::string& board, std::uint64_t time,
                             const Permission& who = kClient, const std::string& note = "") {
    wire::ReserveBoardT wanted;
    wanted.board = board;
    wanted.seconds = time;
    wanted.note = note;
    say(peer, who, std::move(wanted));
    auto answers = take<wire::BoardAnswerT>(peer);
    EXPECT_EQ(answers.size(), 1u);
    return answers.empty() ? wire::BoardAnswerT() : std::move(answers[0]);
  }
  wire::BoardAnswerT release(const PeerId& peer, const std::string& board,
                             const Permission& who = kClient) {
    wire::ReleaseBoardT wanted;
    wanted.board = board;
    say(peer, who, std::move(wanted));
    auto answers = take<wire::BoardAnswerT>(peer);
    EXPECT_EQ(answers.size(), 1u);
    return answers.empty() ? wire::BoardAnswerT() : std::move(answers[0]);
  }
  static ErrorCode code(const wire::BoardAnswerT& answer) {
    return answer.error ? answer.error->code : ErrorCode::Internal;
  }
  // Everybody stays alive for so long.
  void live(milliseconds time) {
    for (milliseconds passed{0}; passed < time; passed += milliseconds(500)) {
      for (const auto& [peer, who] : there) beat(peer, who);
      pass(milliseconds(500));
    }
  }
  std::vector<std::pair<PeerId, Permission>> there;
};

TEST_F(ReservationTest, OnlyItsKeysSessionsGetTheBoard) {
  agent("a", 1, "board-1", {}, 1);
  agent("b", 3, "board-3", {}, 1, kThird);
  client("c", 10);
  client("d", 11, kOther);
  const auto answer = reserve("c", "pynq-3", 7200, kClient, "paper");
  ASSERT_FALSE(answer.error) << answer.error->message;
  EXPECT_EQ(answer.board_id, "board-3");
  EXPECT_EQ(answer.seconds, 7200u);
  open("d", 1, 0, kOther);
  EXPECT_EQ(take<wire::SessionOpenedT>("d").at(0).boards, 1u) << "one of two is not his";
  for (std::uint64_t i = 0; i < 3; ++i) submit("d", 1, 100 + i, {}, "", kOther);
  EXPECT_EQ(assigned("b").size(), 0u);
  auto leases = assigned("a");
  ASSERT_EQ(leases.size(), 1u);
  open("c", 2);
  EXPECT_EQ(take<wire::SessionOpenedT>("c").at(0).boards, 2u);
  submit("c", 2, 200);
  const auto mine = take<wire::AssignT>("b");
  ASSERT_EQ(mine.size(), 1u) << "it does not wait behind the other's trials";
  EXPECT_EQ(trial_of(mine[0]), 200u);
  done("b", mine[0].lease, measured(1), kThird);
  EXPECT_EQ(assigned("b").size(), 0u) << "a reserved board may be idle while others wait";
  // Nor does it help to ask for that very board.
  submit("d", 1, 110, {}, "board-3", kOther);
  EXPECT_EQ(assigned("b").size(), 0u);

  say("d", kOther, wire::ListDevicesT{});
  auto list = std::move(take<wire::DeviceListT>("d").at(0));
  ASSERT_EQ(list.keys.size(), 1u);
  ASSERT_EQ(list.keys[0]->standings.size(), 2u);
  const wire::BoardStandingT& standing = *list.keys[0]->standings[1];
  EXPECT_EQ(standing.name, "pynq-3");
  EXPECT_EQ(standing.reserved_for, "client");
  EXPECT_EQ(standing.reserved_seconds, 7200u);
  EXPECT_EQ(standing.reserved_note, "paper");
  EXPECT_FALSE(standing.yours);
  EXPECT_EQ(list.keys[0]->standings[0]->reserved_for, "");
  ASSERT_EQ(list.sessions.size(), 2u);
  EXPECT_EQ(list.sessions[1]->client, "other");
  EXPECT_EQ(list.sessions[1]->waiting, 3u);

  const auto ended = release("c", "pynq-3");
  EXPECT_FALSE(ended.error);
  EXPECT_EQ(assigned("b").size(), 1u) << "at once";
}

TEST_F(ReservationTest, WhoFindsOnlyReservedBoardsIsTold) {
  agent("b", 3, "board-3", {}, 2, kThird);
  client("c", 10);
  client("d", 11, kOther);
  there = {{"b", kThird}, {"c", kClient}, {"d", kOther}};
  open("d", 1, 0, kOther);  // before it is reserved
  ASSERT_FALSE(take<wire::SessionOpenedT>("d").at(0).error);
  reserve("c", "pynq-3", 3600, kClient, "paper");
  EXPECT_EQ(take<wire::SessionOpenedT>("d").back().boards, 0u);
  open("d", 2, 0, kOther);
  const auto refused = take<wire::SessionOpenedT>("d");
  ASSERT_EQ(refused.size(), 1u);
  ASSERT_TRUE(refused[0].error);
  EXPECT_EQ(refused[0].error->code, ErrorCode::NotFound);
  EXPECT_NE(
      refused[0].error->message.find("'pynq-3' is reserved for 'client' for 1 h more (paper)"),
      std::string::npos)
      << refused[0].error->message;
  submit("d", 1, 5, {}, "", kOther);
  EXPECT_TRUE(assigned("b").empty());
  live(milliseconds(4500));
  EXPECT_TRUE(take<wire::CompletedT>("d").empty());
  live(milliseconds(1500));
  const auto completed = take<wire::CompletedT>("d");
  ASSERT_EQ(completed.size(), 1u) << "no trial waits for ever";
  EXPECT_EQ(failure_of(completed[0]), ErrorCode::DeviceLost);
  const auto outcome = decode_outcome(completed[0].outcome);
  EXPECT_NE(outcome->body.AsFailure()->error->message.find("reserved for 'client'"),
            std::string::npos)
      << outcome->body.AsFailure()->error->message;
}

TEST_F(ReservationTest, ItEndsByItself) {
  agent("b", 3, "board-3", {}, 2, kThird);
  client("c", 10);
  client("d", 11, kOther);
  there = {{"b", kThird}, {"c", kClient}, {"d", kOther}};
  open("d", 1, 0, kOther);
  reserve("c", "pynq-3", 3);
  submit("d", 1, 5, {}, "", kOther);
  live(milliseconds(2000));
  EXPECT_TRUE(assigned("b").empty());
  live(milliseconds(2000));
  EXPECT_EQ(assigned("b").size(), 1u);
  EXPECT_EQ(core.device_list(now).keys.at(0)->standings.at(0)->reserved_for, "");
}

TEST_F(ReservationTest, AnothersIsNeitherTakenNorReleased) {
  agent("b", 3, "board-3", {}, 2, kThird);
  client("c", 10);
  client("d", 11, kOther);
  EXPECT_EQ(code(release("c", "pynq-3")), ErrorCode::NotFound);
  ASSERT_FALSE(reserve("c", "pynq-3", 100).error);
  EXPECT_EQ(code(reserve("d", "pynq-3", 100, kOther)), ErrorCode::Unauthorized);
  const auto refused = release("d", "board-3", kOther);
  EXPECT_EQ(code(refused), ErrorCode::Unauthorized);
  EXPECT_NE(refused.error->message.find("'client'"), std::string::npos) << refused.error->message;
  // Its own key may say how long anew.
  const auto shorter = reserve("c", "pynq-3", 50, kClient, "less");
  EXPECT_EQ(shorter.seconds, 50u);
  EXPECT_EQ(core.device_list(now, "client-key").keys.at(0)->standings.at(0)->reserved_seconds, 50u);
  EXPECT_TRUE(core.device_list(now, "client-key").keys.at(0)->standings.at(0)->yours);
  core.set_owner(kOther.public_key);
  EXPECT_FALSE(release("d", "pynq-3", kOther).error) << "the broker's owner may";
  bool refusal_told = false;
  for (const auto& event : core.take_events()) {
    refusal_told = refusal_told || (event.kind == BrokerEventKind::ReservationRefused &&
                                    event.name == "other" && event.board_id == "board-3");
  }
  EXPECT_TRUE(refusal_told);
}

TEST_F(ReservationTest, WhatCannotBeIsRefusedByName) {
  agent("b", 3, "board-3", {}, 2, kThird);
  client("c", 10);
  const auto unknown = reserve("c", "pynq-4", 100);
  EXPECT_EQ(code(unknown), ErrorCode::NotFound);
  EXPECT_NE(unknown.error->message.find("pynq-3"), std::string::npos) << unknown.error->message;
  const std::uint64_t week = 7 * 24 * 3600;
  for (const std::uint64_t time : {std::uint64_t{0}, week + 1, ~std::uint64_t{0}}) {
    EXPECT_EQ(code(reserve("c", "pynq-3", time)), ErrorCode::InvalidArgument) << time;
  }
  EXPECT_EQ(code(reserve("c", "pynq-3", 100, kClient, "two\nlines")), ErrorCode::InvalidArgument);
  EXPECT_EQ(code(reserve("c", "pynq-3", 100, kClient, "\x1b[2J")), ErrorCode::InvalidArgument);
  EXPECT_FALSE(reserve("c", "pynq-3", week).error);
  // Too long for any board or note: not even read.
  wire::ReserveBoardT longer;
  longer.board = std::string(200, 'x');
  longer.seconds = 1;
  say("c", kClient, longer);
  longer.board = "pynq-3";
  longer.note = std::string(limits::kNoteBytes + 1, 'x');
  say("c", kClient, longer);
  const auto rejects = take<wire::RejectT>("c");
  ASSERT_EQ(rejects.size(), 2u);
  EXPECT_EQ(rejects[1].error->code, ErrorCode::Malformed);
  // No agent reserves boards.
  wire::ReserveBoardT wanted;
  wanted.board = "pynq-3";
  wanted.seconds = 10;
  say("b", kThird, std::move(wanted));
  const auto agents = take<wire::RejectT>("b");
  ASSERT_EQ(agents.size(), 1u);
  EXPECT_EQ(agents[0].error->code, ErrorCode::Unauthorized);
}

TEST_F(ReservationTest, AKeyHasSoManyAndNoMore) {
  for (std::uint64_t i = 0; i <= Reservations::kMostOfKey; ++i) {
    agent("a" + std::to_string(i), 1 + i, "board-" + std::to_string(i));
  }
  client("c", 10);
  client("d", 11, kOther);
  for (std::uint64_t i = 0; i < Reservations::kMostOfKey; ++i) {
    EXPECT_FALSE(reserve("c", "board-" + std::to_string(i), 100).error) << i;
  }
  const std::string last = "board-" + std::to_string(Reservations::kMostOfKey);
  EXPECT_EQ(code(reserve("c", last, 100)), ErrorCode::TooLarge);
  EXPECT_FALSE(reserve("c", "board-0", 200).error) << "its own are no more";
  EXPECT_FALSE(reserve("d", last, 100, kOther).error) << "that is another key";
  EXPECT_EQ(code(reserve("c", "agent", 100)), ErrorCode::InvalidArgument) << "nine are called so";
}

// A board cannot call itself as another is called, to be reserved in its place.
TEST_F(ReservationTest, TheAllowListsNameGoesBeforeABoardsOwn) {
  auto hello = agent_hello(1, "board-1", "pynq", 1);
  hello.board->hostname = "pynq-3";
  say("a", kAgent, std::move(hello));
  agent("b", 3, "board-3", {}, 1, kThird);
  client("c", 10);
  EXPECT_EQ(reserve("c", "pynq-3", 100).board_id, "board-3");
  EXPECT_EQ(reserve("c", "board-1", 100).board_id, "board-1");
}

TEST_F(ReservationTest, ItOutlivesTheBoardsAndTheBrokersRun) {
  core.keep_changes();
  agent("b", 3, "board-3", {}, 1, kThird);
  client("c", 10);
  reserve("c", "pynq-3", 3600, kClient, "paper");
  agent("b2", 4, "board-3", {}, 1, kThird);  // the board was started anew
  BrokerState state;
  for (const StateChange& change : core.take_changes()) {
    if (const auto* saved = std::get_if<SavedReservation>(&change))
      state.reservations.push_back(*saved);
  }
  ASSERT_EQ(state.reservations.size(), 1u);
  EXPECT_EQ(state.reservations[0].left, seconds(3600));
  state.reservations[0].left = seconds(1800);
  state.reservations.push_back({"board-9", "pynq-9", kClient, "", seconds(-5)});

  BrokerCore next(78, times, limits());
  next.keep_changes();
  next.restore(std::move(state), now);
  bool dropped = false;
  for (const StateChange& change : next.take_changes()) {
    const auto* ended = std::get_if<ReservationEnded>(&change);
    dropped = dropped || (ended && ended->board_id == "board-9");
  }
  EXPECT_TRUE(dropped) << "its time went by meanwhile";
  auto hello = agent_hello(4, "board-3", "pynq", 1);
  next.receive("b2", kThird, encode(message_of(std::move(hello))), now);
  auto list = next.device_list(now, kOther.public_key);
  ASSERT_EQ(list.keys.size(), 1u);
  EXPECT_EQ(list.keys[0]->standings.at(0)->reserved_for, "client");
  EXPECT_EQ(list.keys[0]->standings.at(0)->reserved_seconds, 1800u);
  // A key that is revoked has none.
  next.recheck([](const Permission& who) { return who.role != wire::Role::Client; }, now);
  list = next.device_list(now, kOther.public_key);
  EXPECT_EQ(list.keys[0]->standings.at(0)->reserved_for, "");
}

TEST(Durations, AreReadAndWritten) {
  const std::pair<const char*, std::int64_t> good[] = {
      {"45s", 45}, {"90m", 5400}, {"2h", 7200}, {"1d12h", 129'600}, {"2h30m", 9000}, {"0s", 0}};
  for (const auto& [text, wanted] : good) {
    const auto read = parse_duration(text);
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(read->count(), wanted) << text;
  }
  for (const char* text : {"", "2", "h", "2 h", "-2h", "2h2h", "30m2h", "2hours", "1e3s",
                           "99999999999d", "4000d", "2h\n"}) {
    EXPECT_FALSE(parse_duration(text).ok()) << text;
  }
  EXPECT_EQ(duration_text(seconds(7140)), "1 h 59 min");
  EXPECT_EQ(duration_text(seconds(7200)), "2 h");
  EXPECT_EQ(duration_text(seconds(7 * 86'400 - 1)), "6 d 23 h");
  EXPECT_EQ(duration_text(seconds(61)), "1 min 1 s");
  EXPECT_EQ(duration_text(seconds(0)), "0 s");
}

}  // namespace
}  // namespace fettle::fleet
