// One valid key must not end or starve the broker, nor pass for another (issue 18, part 5).
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fstream>

#include "tests/unit/broker_fixture.h"

namespace fettle::fleet {
namespace {

class Trust : public BrokerTest {
 protected:
  // Highest resident size of this process, bytes.
  static std::size_t peak_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmHWM:")) return std::stoul(line.substr(6)) * 1024;
    }
    return 0;
  }
  static Bytes heartbeat_of(std::size_t leases) {
    flatbuffers::FlatBufferBuilder builder(leases * 8 + 256);
    std::uint64_t* ids = nullptr;
    const auto list = builder.CreateUninitializedVector(leases, &ids);
    for (std::size_t i = 0; i < leases; ++i) ids[i] = i + 1;
    const auto body = wire::CreateHeartbeat(builder, 1, list);
    wire::FinishMessageBuffer(builder,
                              wire::CreateMessage(builder, wire::Body::Heartbeat, body.Union()));
    return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
  }
};

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

Permission board_key(const std::string& name, std::vector<std::string> device_keys = {},
                     std::vector<std::string> boards = {}) {
  return {name, wire::Role::Agent, "key-of-" + name, std::move(device_keys), std::move(boards)};
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
  auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(failure_of(completed[0]), ErrorCode::InvalidArgument);
  const auto outcome = decode_outcome(completed[0].outcome);
  EXPECT_NE(outcome->body.AsFailure()->error->message.find("7200 s at most"), std::string::npos);
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

class TrustQuota : public Trust {
 protected:
  static BrokerLimits small() {
    BrokerLimits limits = BrokerTest::limits();
    limits.request_bytes = 20'000;
    limits.completed_bytes = 5'000;
    limits.clients = 4;
    return limits;
  }
  TrustQuota() { core_ = std::make_unique<BrokerCore>(78, times, small()); }
  std::unique_ptr<BrokerCore> core_;  // with less of everything

  template <typename BodyT>
  void tell(const PeerId& from, const Permission& who, BodyT body) {
    core_->receive(from, who, encode(message_of(std::move(body))), now);
    for (auto& outgoing : core_->take_outgoing()) {
      heard[outgoing.to].push_back(std::move(*decode_message(*outgoing.bytes)));
    }
  }
};

wire::PutBlobT whole_blob(const Bytes& bytes) {
  wire::PutBlobT put;
  put.hash = std::make_unique<wire::Hash>(content_hash(bytes));
  put.bytes = bytes;
  return put;
}

// The store (10,000 bytes) is full of what one client's requests need, and stays so.
TEST_F(Trust, PinnedBlobStarvation) {
  agent("a", 1, "board", {}, 1);
  client("c", 10);
  client("d", 11, kOther);
  open("c", 5);
  open("d", 6, 0, kOther);
  submit("c", 5, 1);  // keeps the board busy
  const auto busy = assigned("a");
  ASSERT_EQ(busy.size(), 1u);
  std::vector<Bytes> pinned;
  for (std::uint8_t i = 0; i < 4; ++i) pinned.emplace_back(2300, i);
  for (std::size_t i = 0; i < pinned.size(); ++i) {
    submit("c", 5, 10 + i, {content_hash(pinned[i])});
    say("c", kClient, whole_blob(pinned[i]));
  }
  // One that waits for a second blob, which never comes.
  submit("c", 5, 20, {content_hash(pinned[0]), content_hash(Bytes{1})});
  EXPECT_TRUE(take<wire::CompletedT>("c").empty()) << "all of them fit";
  take<wire::BlobsWantedT>("c");

  const Bytes mine(3000, 99);
  submit("d", 6, 1, {content_hash(mine)}, "", kOther);
  say("d", kOther, whole_blob(mine));
  EXPECT_TRUE(take<wire::CompletedT>("d").empty()) << "another client's blob found no room";
  // The client whose blobs made room is asked for them again, the one used longest ago first.
  const auto wanted = take<wire::BlobsWantedT>("c");
  ASSERT_FALSE(wanted.empty());
  EXPECT_EQ(std::memcmp(&wanted[0].hashes.at(0), whole_blob(pinned[0]).hash.get(), 32), 0);
  // It is over its share still: its trials fail, and the other's has a board.
  for (const Bytes& bytes : {pinned[0], pinned[1]}) say("c", kClient, whole_blob(bytes));
  const auto failed = take<wire::CompletedT>("c");
  ASSERT_GE(failed.size(), 1u);
  EXPECT_EQ(failure_of(failed[0]), ErrorCode::TooLarge);
  done("a", busy[0], measured(1));
  std::set<PeerId> completed;
  for (int i = 0; i < 5; ++i) {
    for (LeaseId lease : assigned("a")) done("a", lease, measured(1));
    if (!take<wire::CompletedT>("d").empty()) completed.insert("d");
  }
  EXPECT_EQ(completed.count("d"), 1u);
}

TEST_F(Trust, PinsOfTrialsThatWaitForEverExpire) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  const Bytes held(9000, 1);
  submit("c", 5, 1, {content_hash(held), content_hash(Bytes{1})});
  say("c", kClient, whole_blob(held));
  for (int i = 0; i < 2 * 599; ++i) {
    beat("a", kAgent);
    beat("c", kClient);
    pass(milliseconds(500));
  }
  EXPECT_TRUE(take<wire::CompletedT>("c").empty());
  for (int i = 0; i < 4; ++i) {
    beat("a", kAgent);
    beat("c", kClient);
    pass(milliseconds(500));
  }
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(failure_of(completed[0]), ErrorCode::Timeout);
  const Bytes other(9000, 2);  // the same client's: nothing is pinned any more
  submit("c", 5, 2, {content_hash(other)});
  say("c", kClient, whole_blob(other));
  EXPECT_EQ(assigned("a").size(), 1u);
}

// Bytes of requests that wait, of outcomes that are kept, and connections: of one key, however
// many sessions it has.
TEST_F(TrustQuota, OneKeysBytesAreBounded) {
  tell("a", kAgent, agent_hello(1, "board", "pynq", 64));
  const auto hello = [](std::uint64_t instance) {
    wire::HelloT hello;
    hello.protocol_version = limits::kProtocolVersion;
    hello.instance = instance;
    return hello;
  };
  const auto submit_large = [&](const PeerId& peer, const Permission& who, std::uint64_t session,
                                std::uint64_t trial) {
    auto request = small_request();
    request.program->images[0]->bytes = Bytes(5000, 1);
    wire::SubmitT message;
    message.session = session;
    message.trial = trial;
    message.request = encode(request);
    tell(peer, who, std::move(message));
  };
  for (std::uint64_t i = 0; i < 2; ++i) {
    const PeerId peer = "c" + std::to_string(i);
    tell(peer, kClient, hello(10 + i));
    wire::OpenSessionT open;
    open.session = 5;
    open.device_key = "pynq";
    tell(peer, kClient, std::move(open));
    for (std::uint64_t trial = 0; trial < 5; ++trial) submit_large(peer, kClient, 5, trial);
  }
  EXPECT_LE(core_->usage().at(0).request_bytes, 20'000u);
  std::size_t refused = 0;
  for (const PeerId peer : {"c0", "c1"}) {
    for (const auto& completed : take<wire::CompletedT>(peer)) {
      EXPECT_EQ(failure_of(completed), ErrorCode::TooLarge);
      ++refused;
    }
  }
  EXPECT_EQ(refused, 7u) << "three of ten fit";
  // What it has does not count against another.
  tell("d", kOther, hello(20));
  wire::OpenSessionT open;
  open.session = 6;
  open.device_key = "pynq";
  tell("d", kOther, std::move(open));
  submit_large("d", kOther, 6, 1);
  EXPECT_TRUE(take<wire::CompletedT>("d").empty());
  // Outcomes are kept up to a bound; what has ended is not charged any more.
  for (const auto& assign : take<wire::AssignT>("a")) {
    auto outcome = measured(1);
    outcome.body.AsMeasurement()->launch_ticks.assign(400, 1.0);
    wire::DoneT done;
    done.lease = assign.lease;
    done.outcome = encode(outcome);
    tell("a", kAgent, std::move(done));
  }
  for (const auto& usage : core_->usage()) {
    EXPECT_EQ(usage.request_bytes, 0u) << usage.name;
    EXPECT_LE(usage.completed_bytes, 5000u) << usage.name;
    EXPECT_GT(usage.completed_bytes, 0u) << usage.name;
  }
  // Connections: idle ones make room, those with sessions do not.
  for (std::uint64_t i = 0; i < 20; ++i) tell("i" + std::to_string(i), kClient, hello(100 + i));
  for (const auto& usage : core_->usage()) EXPECT_LE(usage.connections, 4u);
  EXPECT_EQ(take<wire::RejectT>("i19").size(), 0u);
  EXPECT_FALSE(core_->take_events().empty());
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
