// Deadlines of leases and trials (issue 18, part 5).
#include "tests/unit/trust_fixture.h"

namespace fettle::fleet {
namespace {

// Heartbeats as if it worked, but never an answer.
TEST_F(Trust, AgentNeverDone) {
  const Permission evil = board_key("evil"), good = board_key("good");
  std::vector<LeaseId> evil_holds, good_holds;
  // As time passes, all heartbeat.
  const auto wait = [&](std::chrono::seconds time, const std::function<bool()>& until) {
    for (const TimePoint end = now + time; now < end && !until();) {
      for (LeaseId lease : assigned("e")) evil_holds.push_back(lease);
      beat("e", evil, evil_holds);
      beat("g", good, good_holds);
      beat("c", kClient);
      pass(milliseconds(500));
      for (const auto& release : take<wire::ReleaseT>("e")) std::erase(evil_holds, release.lease);
    }
    return until();
  };
  agent("e", 1, "evil-board", {}, 2, evil);
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  submit("c", 5, 2);
  wait(std::chrono::seconds(440), [] { return false; });
  EXPECT_EQ(evil_holds.size(), 2u) << "by its own limits a trial may take as long";
  agent("g", 2, "good-board", {}, 2, good);
  const TimePoint before = now;
  std::vector<wire::AssignT> elsewhere;
  ASSERT_TRUE(wait(std::chrono::seconds(3600), [&] {
    for (auto& assign : take<wire::AssignT>("g")) elsewhere.push_back(std::move(assign));
    good_holds.clear();
    for (const auto& assign : elsewhere) good_holds.push_back(assign.lease);
    return elsewhere.size() == 2;
  })) << "no trial came back";
  std::printf(
      "taken away %d s after the good board came\n",
      static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(now - before).count()));
  EXPECT_TRUE(evil_holds.empty()) << "it is told";
  for (const auto& assign : elsewhere) done("g", assign.lease, measured(1), good);
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 2u);
  EXPECT_EQ(completed[0].attempt, 2u);
  EXPECT_EQ(completed[1].attempt, 1u) << "it waited behind the first: no attempt";
  EXPECT_EQ(core.counters().overdue.load(), 1u);
  bool told = false;
  for (const auto& event : core.take_events())
    told = told || (event.kind == BrokerEventKind::LeaseOverdue && event.name == "evil" &&
                    event.board_id == "evil-board" && event.trial == 1);
  EXPECT_TRUE(told);

  // Its device rests, also when it is started anew, and has one credit then.
  for (std::uint64_t trial = 10; trial < 20; ++trial) submit("c", 5, trial);
  good_holds = assigned("g");
  EXPECT_EQ(good_holds.size(), 2u);
  agent("e", 3, "evil-board", {}, 2, evil);
  EXPECT_TRUE(assigned("e").empty());
  EXPECT_TRUE(wait(std::chrono::seconds(61), [&] { return !evil_holds.empty(); }));
  EXPECT_EQ(evil_holds.size(), 1u);
  done("e", evil_holds.at(0), measured(1), evil);
  evil_holds.clear();
  EXPECT_EQ(assigned("e").size(), 2u) << "in good standing again";
}

// The clock of one that waits behind others starts when those are done.
TEST_F(Trust, ALeaseBehindAnotherStartsLate) {
  agent("a", 1, "board", {}, 2);
  client("c", 10);
  open("c", 5);
  for (std::uint64_t trial = 0; trial < 6; ++trial) submit("c", 5, trial);
  std::vector<LeaseId> held;
  for (int done_so_far = 0; done_so_far < 6; ++done_so_far) {
    for (int i = 0; i < 2 * 440; ++i) {  // honest, and as slow as it may be
      for (LeaseId lease : assigned("a")) held.push_back(lease);
      beat("a", kAgent, held);
      beat("c", kClient);
      pass(milliseconds(500));
    }
    done("a", held.at(0), measured(1));
    held.erase(held.begin());
  }
  EXPECT_EQ(take<wire::CompletedT>("c").size(), 6u);
  EXPECT_EQ(core.counters().overdue.load(), 0u);
}

// An agent that counts instructions counts its limits by a clock that lags behind ours.
TEST_F(Trust, ABoardWhoseClockCountsInstructionsHasLonger) {
  auto hello = agent_hello(1, "board", "pynq", 1);
  hello.devices[0]->clock = wire::ClockDomain::Instructions;
  say("a", kAgent, std::move(hello));
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  const auto leases = assigned("a");
  ASSERT_EQ(leases.size(), 1u);
  int seconds = 0;
  for (; seconds < 20'000 && core.counters().overdue.load() == 0; ++seconds) {
    beat("a", kAgent, leases);
    beat("c", kClient);
    pass(milliseconds(500));
    beat("a", kAgent, leases);
    beat("c", kClient);
    pass(milliseconds(500));
  }
  EXPECT_GT(seconds, 20 * 440);
  EXPECT_LT(seconds, 20'000) << "but not for ever";
}

TEST_F(Trust, ATrialsLongestTimeIsBounded) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  const auto send = [&](std::uint64_t trial, const wire::MeasureRequestT& request) {
    wire::SubmitT message;
    message.session = 5;
    message.trial = trial;
    message.request = encode(request);
    say("c", kClient, std::move(message));
  };
  auto request = small_request();
  request.options->timeout_ms = limits::kTimeoutMs;  // an hour of run time is fine
  send(1, request);
  EXPECT_EQ(assigned("a").size(), 1u);
  request.options->repeat = limits::kSamples;  // days
  send(2, request);
  EXPECT_TRUE(take<wire::CompletedT>("c").empty()) << "it has two hours of those days";
  request.options->repeat = 10;
  request.options->timeout_ms = limits::kTimeoutMs + 1;
  send(3, request);
  EXPECT_EQ(failure_of(take<wire::CompletedT>("c").at(0)), ErrorCode::Malformed);
  wire::SubmitT garbage;
  garbage.session = 5;
  garbage.trial = 4;
  garbage.request = Bytes(100, 0xff);
  say("c", kClient, std::move(garbage));
  EXPECT_EQ(take<wire::RejectT>("c").size(), 1u);
}

}  // namespace
}  // namespace fettle::fleet
