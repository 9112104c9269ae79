// One valid key must not end or starve the broker, nor pass for another (issue 18, part 5).
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fstream>

#include "tests/unit/trust_fixture.h"

namespace fettle::fleet {
namespace {

// Highest resident size of this process, bytes.
std::size_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoul(line.substr(6)) * 1024;
  }
  return 0;
}
Bytes heartbeat_of(std::size_t leases) {
  flatbuffers::FlatBufferBuilder builder(leases * 8 + 256);
  std::uint64_t* ids = nullptr;
  const auto list = builder.CreateUninitializedVector(leases, &ids);
  for (std::size_t i = 0; i < leases; ++i) ids[i] = i + 1;
  const auto body = wire::CreateHeartbeat(builder, 1, list);
  wire::FinishMessageBuffer(builder,
                            wire::CreateMessage(builder, wire::Body::Heartbeat, body.Union()));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

// In a child: where it is not refused it takes gigabytes.
TEST_F(Trust, HeartbeatOfTwentyMillionLeases) {
  agent("a", 1, "board");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const Bytes message = heartbeat_of(20'000'000);
    const std::size_t before = peak_bytes();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const rlimit most{std::size_t{2} << 30, std::size_t{2} << 30};
    ::setrlimit(RLIMIT_AS, &most);
#endif
    const auto start = Clock::now();
    core.receive("a", kAgent, message, now);
    const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - start);
    const std::size_t grown = peak_bytes() - before, answers = core.take_outgoing().size();
    std::printf("%zu MB more at the peak, %zu answers, %d ms\n", grown >> 20, answers,
                static_cast<int>(took.count()));
    std::fflush(stdout);
    ::_exit(grown < (std::size_t{64} << 20) && answers == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "wait status " << status;

  // As many as one socket's message takes, and one more than the board can hold.
  for (const std::size_t leases : {std::size_t{250'000}, std::size_t{3}}) {
    core.receive("a", kAgent, heartbeat_of(leases), now);
    collect();
    const auto rejects = take<wire::RejectT>("a");
    ASSERT_EQ(rejects.size(), 1u) << leases;
    EXPECT_EQ(rejects[0].error->code, ErrorCode::Malformed);
    EXPECT_TRUE(take<wire::ReleaseT>("a").empty()) << leases;
    EXPECT_TRUE(take<wire::HeartbeatT>("a").empty()) << leases;
  }
  beat("a", kAgent, {4, 5});  // as many as it can hold, though none is known
  EXPECT_EQ(take<wire::ReleaseT>("a").size(), 2u);
  EXPECT_EQ(take<wire::HeartbeatT>("a").size(), 1u);
  const auto events = core.take_events();
  EXPECT_EQ(std::count_if(events.begin(), events.end(),
                          [](const BrokerEvent& event) {
                            return event.kind == BrokerEventKind::PeerRejected &&
                                   event.name == "agent";
                          }),
            2);
}

TEST_F(Trust, ImpostorBoardId) {
  const auto joins = [&](const PeerId& peer, const Permission& who, std::uint64_t instance,
                         const std::string& board, const std::string& key = "pynq") {
    say(peer, who, agent_hello(instance, board, key, 1));
    const auto rejects = take<wire::RejectT>(peer);
    if (!rejects.empty()) {
      EXPECT_EQ(rejects[0].error->code, ErrorCode::Unauthorized);
      EXPECT_NE(rejects[0].error->message.find("fettle keys allow"), std::string::npos);
    }
    return take<wire::WelcomeT>(peer).size() == 1 && rejects.empty();
  };
  // Ten Pynqs, each with its own key, share a device key without ceremony.
  for (std::uint64_t i = 0; i < 10; ++i) {
    const std::string name = "pynq-" + std::to_string(i);
    EXPECT_TRUE(joins(name, board_key(name), 10 + i, "board-" + std::to_string(i)));
  }
  client("c", 10);
  open("c", 5);
  EXPECT_EQ(take<wire::SessionOpenedT>("c").at(0).boards, 10u);

  // Another key says that it is one of them: it gets none of its trials.
  const Permission impostor = board_key("impostor");
  EXPECT_FALSE(joins("evil", impostor, 50, "board-3"));
  for (std::uint64_t trial = 0; trial < 20; ++trial) submit("c", 5, trial, {}, "board-3");
  EXPECT_TRUE(assigned("evil").empty());
  EXPECT_EQ(assigned("pynq-3").size(), 1u);
  // Nor while the board itself is away, and not by a key that was another board before.
  core.unreachable("pynq-3", now);
  for (int i = 0; i < 12; ++i) pass(milliseconds(100));
  EXPECT_FALSE(joins("evil", impostor, 51, "board-3"));
  EXPECT_TRUE(joins("evil", impostor, 52, "evil-board"));
  EXPECT_FALSE(joins("evil", impostor, 53, "board-99"));
  EXPECT_TRUE(joins("pynq-3", board_key("pynq-3"), 60, "board-3")) << "itself again";

  // Bound to device keys, it serves no others; aliases are device keys too.
  const Permission bound = board_key("bound", {"rk3399"});
  EXPECT_FALSE(joins("b", bound, 70, "board-b"));
  auto aliased = agent_hello(71, "board-b", "rk3399", 1);
  aliased.devices[0]->aliases = {"pynq"};
  say("b", bound, std::move(aliased));
  EXPECT_EQ(take<wire::RejectT>("b").size(), 1u);
  EXPECT_TRUE(joins("b", bound, 72, "board-b", "rk3399"));
  EXPECT_TRUE(joins("any", board_key("any", {"*"}), 73, "board-any"));

  // Bound to boards: those, whoever was first, as soon as the list says so.
  const Permission owner = board_key("owner", {}, {"board-x"}), twin = board_key("twin");
  EXPECT_FALSE(joins("o", owner, 80, "board-y"));
  EXPECT_TRUE(joins("t", twin, 81, "board-x")) << "nobody claims it yet";
  EXPECT_TRUE(joins("o", owner, 82, "board-x")) << "its entry names it";
  EXPECT_FALSE(joins("t", twin, 83, "board-x"));
  core.set_allowed({board_key("absent", {}, {"board-z"})});
  EXPECT_FALSE(joins("t", twin, 84, "board-z")) << "named by an entry, though it is not here";
  // Two keys share an id where both may have it.
  EXPECT_TRUE(joins("w", board_key("wild", {}, {"*"}), 85, "board-x"));
  EXPECT_FALSE(joins("w", board_key("wild", {}, {"*"}), 86, "board-5")) << "pynq-5 is not";
  // A revoked key's pin is gone with it.
  core.recheck([](const Permission& who) { return who.name != "pynq-7"; }, now);
  EXPECT_TRUE(joins("new", board_key("new"), 90, "board-7"));
}

// Extreme priorities: no overflow, the same as the nearest that is allowed, and no starving.
TEST_F(Trust, IntMinPriority) {
  constexpr int kLowest = std::numeric_limits<int>::min(),
                kHighest = std::numeric_limits<int>::max();
  agent("a", 1, "board", {}, 1);
  client("c", 10);
  client("d", 11, kOther);
  open("c", 1, kLowest);
  open("c", 2, 0);
  open("d", 3, kHighest, kOther);
  open("d", 4, limits::kPriority, kOther);
  submit("c", 2, 1);  // the board is busy
  for (std::uint64_t i = 0; i < 3; ++i) submit("c", 1, 100 + i);
  for (std::uint64_t i = 0; i < 3; ++i) submit("c", 2, 200 + i);
  std::uint64_t next = 1000;
  std::vector<std::uint64_t> order;
  for (int i = 0; i < 150; ++i) {
    // The greedy client never runs out of trials.
    submit("d", 3, next++, {}, "", kOther);
    if (i == 0) submit("d", 4, 500, {}, "", kOther);
    const auto assigns = take<wire::AssignT>("a");
    ASSERT_EQ(assigns.size(), 1u);
    order.push_back(trial_of(assigns[0]));
    done("a", assigns[0].lease, measured(1));
  }
  const auto at = [&](std::uint64_t trial) {
    return std::find(order.begin(), order.end(), trial) - order.begin();
  };
  EXPECT_GE(order[1], 500u) << "the highest goes first";
  EXPECT_LE(at(500), 3) << "2^31 - 1 is no higher than what is allowed";
  EXPECT_LT(at(200), at(100)) << "the lowest is the lowest";
  for (std::uint64_t trial : {100, 101, 102, 200, 201, 202}) {
    EXPECT_LT(at(trial), 150) << "trial " << trial << " never had its turn";
  }
  const auto greedy = std::count_if(order.begin(), order.end(), [](auto t) { return t >= 1000; });
  EXPECT_GE(greedy, 120) << "priority still counts";
}

TEST_F(Trust, SixteenMiBFailureText) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  for (std::uint64_t trial = 1; trial <= 3; ++trial) submit("c", 5, trial);
  auto leases = assigned("a");
  ASSERT_EQ(leases.size(), 2u);
  const std::string text = "begins " + std::string(std::size_t{16} << 20, 'x');
  wire::OutcomeT outcome;
  outcome.body.Set(make_failure(wire::Stage::Load, {ErrorCode::BuildError, text, {text, text}}));
  done("a", leases[0], outcome);
  auto measurement = measured(5);
  auto& readings = measurement.body.AsMeasurement()->before;
  readings = std::make_unique<wire::ConditionsT>();
  readings->governor = text;
  done("a", leases[1], measurement);
  outcome.body.AsFailure()->stage = static_cast<wire::Stage>(200);  // its text is quoted
  done("a", assigned("a").at(0), outcome);
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 3u);
  for (const auto& one : completed) EXPECT_LT(one.outcome.size(), std::size_t{64} << 10);
  const auto failed = decode_outcome(completed[0].outcome);
  ASSERT_TRUE(failed.ok() && failed->body.AsFailure());
  const auto& error = *failed->body.AsFailure()->error;
  EXPECT_EQ(error.code, ErrorCode::BuildError);
  EXPECT_TRUE(error.message.starts_with("begins xxx"));
  EXPECT_NE(error.message.find("more bytes left out]"), std::string::npos);
  EXPECT_LE(error.message.size(), limits::kErrorBytes);
  EXPECT_EQ(decode_outcome(completed[1].outcome)->body.AsMeasurement()->median, 5);
  EXPECT_EQ(failure_of(completed[2]), ErrorCode::Malformed);
}

TEST_F(Trust, WhatAPeerSaysOfItselfIsBounded) {
  const auto refused = [&](wire::HelloT hello, const char* what) {
    say("a", kAgent, std::move(hello));
    EXPECT_TRUE(take<wire::WelcomeT>("a").empty()) << what;
    const auto rejects = take<wire::RejectT>("a");
    ASSERT_EQ(rejects.size(), 1u) << what;
    EXPECT_EQ(rejects[0].error->code, ErrorCode::Malformed) << what;
    EXPECT_LE(rejects[0].error->message.size(), limits::kErrorBytes) << what;
  };
  const std::string page(100'000, 'x');
  auto hello = agent_hello(1, "board", "pynq");
  hello.board->id = std::string(200, 'x');
  refused(std::move(hello), "board id");
  hello = agent_hello(1, "board", "pynq");
  hello.board->hostname = page;
  refused(std::move(hello), "host name");
  hello = agent_hello(1, "board", "pynq");
  hello.devices[0]->name = page;
  refused(std::move(hello), "device name");
  hello = agent_hello(1, "board", "pynq");
  hello.software_version = page;
  refused(std::move(hello), "software version");
  hello = agent_hello(1, "board", "pynq");
  hello.leases.assign(limits::kLeases + 1, 7);
  refused(std::move(hello), "leases");
  hello = agent_hello(1, "board", "pynq");
  hello.devices[0]->aliases.assign(8, "pynq-z2");
  refused(std::move(hello), "aliases");
  hello = agent_hello(1, "board", "pynq");
  hello.devices[0]->cpu = std::make_unique<wire::CpuFactsT>();
  hello.devices[0]->cpu->features.assign(1000, std::string(1000, 'x'));
  refused(std::move(hello), "all together");

  agent("a", 1, "board");
  client("c", 10);
  wire::OpenSessionT open;
  open.session = 5;
  open.device_key = "pynq";
  open.name = page;
  say("c", kClient, std::move(open));
  EXPECT_EQ(take<wire::RejectT>("c").size(), 1u);
  EXPECT_TRUE(take<wire::SessionOpenedT>("c").empty());
}

}  // namespace
}  // namespace fettle::fleet
