// Build workers in the broker's state machine: candidates, programs by their hashes, and what must
// not harm when a builder goes, hangs or answers nonsense.
#include "host/fleet/build_key.h"
#include "host/fleet/build_peer_core.h"
#include "tests/unit/broker_fixture.h"

namespace fettle::fleet {
namespace {

const Permission kBuilder{"builder", wire::Role::BuildWorker, "builder-key", {}, {}};

wire::HelloT builder_hello(std::uint64_t instance, std::uint32_t builders = 1,
                           const std::string& key = "build:v1") {
  wire::HelloT hello = agent_hello(instance, "node-" + std::to_string(instance), key);
  hello.role = wire::Role::BuildWorker;
  hello.devices.clear();
  for (std::uint32_t i = 0; i < builders; ++i) {
    auto device = std::make_unique<wire::DeviceInfoT>();
    device->key = key;
    device->index = i;
    hello.devices.push_back(std::move(device));
  }
  return hello;
}

wire::BuildRequestT build_request(const std::string& how = "any") {
  wire::BuildRequestT request;
  request.workload = request.target = "{}";
  request.configuration = how;
  return request;
}

wire::BuildResultT program_of(const Bytes& image) {
  wire::BuildOutputT output;
  output.program = std::move(small_request().program);
  output.program->images[0]->bytes = image;
  output.program_hash = std::make_unique<wire::Hash>(content_hash(image));
  wire::BuildResultT result;
  result.body.Set(std::move(output));
  return result;
}

class BuilderTest : public BrokerTest {
 protected:
  void builder(const PeerId& peer, std::uint64_t instance, std::uint32_t builders = 1) {
    say(peer, kBuilder, builder_hello(instance, builders));
  }
  void ask(std::uint64_t trial, const std::string& how = "any") {
    wire::SubmitT submit;
    submit.session = 5;
    submit.trial = trial;
    submit.build = encode(build_request(how));
    say("c", kClient, std::move(submit));
  }
  void session() {
    client("c", 10);
    open("c", 5, 0, kClient, "build:v1");
  }
  // By hash, as a build worker says it.
  void built(const PeerId& peer, LeaseId lease, wire::BuildResultT result) {
    if (auto* output = result.body.AsBuildOutput()) take_blobs_out(*output->program);
    wire::DoneT message;
    message.lease = lease;
    message.built = encode(result);
    say(peer, kBuilder, std::move(message));
  }
  void put(const PeerId& peer, const wire::Hash& hash, const Bytes& bytes) {
    wire::PutBlobT piece;
    piece.hash = std::make_unique<wire::Hash>(hash);
    piece.bytes = bytes;
    say(peer, kBuilder, std::move(piece));
  }
};

TEST_F(BuilderTest, AProgramIsCompleteOnceTheBrokerHasItsImages) {
  session();
  EXPECT_EQ(take<wire::SessionOpenedT>("c").at(0).error, nullptr) << "before there is a builder";
  builder("b", 1, 2);
  const auto opened = take<wire::SessionOpenedT>("c");
  ASSERT_FALSE(opened.empty());
  EXPECT_EQ(opened.back().boards, 2u) << "the session is told of new builders";
  EXPECT_EQ(core.builders(), 2u);
  EXPECT_EQ(core.agents(), 0u) << "they are no boards";
  ask(1, "first");
  const auto assigned = take<wire::AssignT>("b");
  ASSERT_EQ(assigned.size(), 1u);
  EXPECT_TRUE(assigned[0].request.empty());
  EXPECT_EQ(decode_build_request(assigned[0].build)->configuration, "first");

  const Bytes image(100, 42);
  built("b", assigned[0].lease, program_of(image));
  EXPECT_TRUE(take<wire::CompletedT>("c").empty()) << "its image is not here";
  const auto wanted = take<wire::BlobsWantedT>("b");
  ASSERT_EQ(wanted.size(), 1u);
  put("b", content_hash(image), image);
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  const auto result = decode_build_result(completed[0].built);
  ASSERT_TRUE(result.ok()) << result.error().text();
  EXPECT_TRUE(result->body.AsBuildOutput()->program->images[0]->bytes.empty());
  EXPECT_EQ(take<wire::ReleaseT>("b").size(), 1u) << "it may forget the image";

  // A board gets the image by its hash, though the session never had it.
  agent("a", 7, "board-1");
  open("c", 6);
  submit("c", 6, 1, {content_hash(image)});
  EXPECT_EQ(take<wire::PutBlobT>("a").size(), 1u);
  EXPECT_EQ(take<wire::AssignT>("a").size(), 1u);

  // The same program once more: nobody is asked for the image again.
  ask(2);
  built("b", take<wire::AssignT>("b").at(0).lease, program_of(image));
  EXPECT_TRUE(take<wire::BlobsWantedT>("b").empty());
  EXPECT_EQ(take<wire::CompletedT>("c").size(), 1u);
}

// A farm of build workers grows and shrinks by this.
TEST_F(BuilderTest, TellsWhatIsWantedOfBuilders) {
  EXPECT_TRUE(core.build_queues().empty());
  session();
  auto queues = core.build_queues();
  ASSERT_EQ(queues.size(), 1u);
  EXPECT_EQ(queues[0].version, "v1");
  EXPECT_EQ(queues[0].wanted(), 1u) << "one for a session that has no builder yet";
  say("c", kClient, wire::ListDevicesT{});
  auto list = take<wire::DeviceListT>("c").at(0);
  ASSERT_EQ(list.keys.size(), 1u);
  EXPECT_EQ(list.keys[0]->key, "build:v1");
  EXPECT_EQ(list.keys[0]->total, 0u);
  EXPECT_EQ(list.keys[0]->pending, 1u);

  builder("b", 1, 2);  // a request each
  for (int i = 0; i < 5; ++i) ask(static_cast<std::uint64_t>(i), std::to_string(i));
  queues = core.build_queues();
  ASSERT_EQ(queues.size(), 1u);
  EXPECT_EQ(queues[0].builders, 2u);
  EXPECT_EQ(queues[0].busy, 2u);
  EXPECT_EQ(queues[0].waiting(), 3u);
  EXPECT_EQ(queues[0].wanted(), 5u);
  say("c", kClient, wire::ListDevicesT{});
  list = take<wire::DeviceListT>("c").at(0);
  EXPECT_EQ(list.keys.at(0)->total, 2u);
  EXPECT_EQ(list.keys.at(0)->free, 0u);
  EXPECT_EQ(list.keys.at(0)->pending, 3u) << "wanted, beyond those that are busy";

  agent("a", 7, "board-1");
  const BoardStates states = core.board_states(now);
  EXPECT_EQ(states, (BoardStates{1, 0, 0, 0})) << "builders are no boards";
  wire::CloseSessionT close;
  close.session = 5;
  say("c", kClient, std::move(close));
  EXPECT_EQ(core.build_queues().at(0).sessions, 0u);
}

// A farm's worker may have to wait for its turn in a cluster's queue.
TEST_F(BuilderTest, CandidatesWaitForABuilderHoweverLongThatTakes) {
  session();
  ask(1);
  for (int i = 0; i < 200; ++i) {
    beat("c", kClient);
    pass(milliseconds(500));
  }
  EXPECT_TRUE(take<wire::CompletedT>("c").empty());
  builder("b", 1);
  EXPECT_EQ(take<wire::AssignT>("b").size(), 1u);
}

TEST_F(BuilderTest, WhatWasBuiltIsNotBuiltAgain) {
  session();
  builder("b", 1);
  const Bytes image(100, 42);
  ask(1, "same");
  built("b", take<wire::AssignT>("b").at(0).lease, program_of(image));
  put("b", content_hash(image), image);
  const auto first = take<wire::CompletedT>("c");
  ASSERT_EQ(first.size(), 1u);
  ask(2, "same");
  const auto known = take<wire::CompletedT>("c");
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].built, first[0].built);
  EXPECT_EQ(known[0].trial, 2u);
  EXPECT_TRUE(take<wire::AssignT>("b").empty());
  // Another client's session too, of the same version only.
  client("o", 11, kOther);
  const auto ask_other = [&](std::uint64_t session, const std::string& key) {
    open("o", session, 0, kOther, key);
    wire::SubmitT submit;
    submit.session = session;
    submit.trial = 1;
    submit.build = encode(build_request("same"));
    say("o", kOther, std::move(submit));
    return take<wire::CompletedT>("o").size();
  };
  EXPECT_EQ(ask_other(6, "build:v1"), 1u);
  EXPECT_EQ(ask_other(7, "build:v2"), 0u) << "another compiler";
  ask(3, "other");
  EXPECT_EQ(take<wire::AssignT>("b").size(), 1u);
  EXPECT_EQ(core.counters().known_builds.load(), 2u);
}

TEST_F(BuilderTest, AProgramWhoseImagesAreGoneIsBuiltAgain) {
  session();
  builder("b", 1);
  const Bytes image(4000, 42);
  ask(1, "same");
  built("b", take<wire::AssignT>("b").at(0).lease, program_of(image));
  put("b", content_hash(image), image);
  ASSERT_EQ(take<wire::CompletedT>("c").size(), 1u);
  wire::CloseSessionT close;  // whose results keep images
  close.session = 5;
  say("c", kClient, std::move(close));
  open("c", 5, 0, kClient, "build:v1");
  for (std::uint8_t other = 1; other <= 3; ++other) {  // of 10,000 bytes that there is room for
    ask(10u + other, "other " + std::to_string(other));
    built("b", take<wire::AssignT>("b").at(0).lease, program_of(Bytes(2500, other)));
    put("b", content_hash(Bytes(2500, other)), Bytes(2500, other));
  }
  EXPECT_EQ(take<wire::CompletedT>("c").size(), 3u);
  ask(20, "same");
  EXPECT_EQ(take<wire::AssignT>("b").size(), 1u) << "its image made room";
}

TEST_F(BuilderTest, FailuresAreNotReliedOn) {
  session();
  builder("b", 1);
  for (std::uint64_t trial = 1; trial <= 2; ++trial) {
    ask(trial, "same");
    const auto assigned = take<wire::AssignT>("b");
    ASSERT_EQ(assigned.size(), 1u);
    wire::BuildResultT crash;
    crash.body.Set(make_failure(wire::Stage::Build, {ErrorCode::CompilerCrash, "crash", {}}));
    built("b", assigned[0].lease, std::move(crash));
  }
  EXPECT_EQ(take<wire::CompletedT>("c").size(), 2u);
}

TEST(BuildCache, ForgetsWhatWasUsedLongestAgo) {
  const auto answer = [] { return BuildCache::Answer{share(Bytes(1000, 1)), {}}; };
  const auto question = [](const std::string& how) {
    return build_question("build:v1", build_request(how));
  };
  BuildCache cache(3000);  // two answers
  cache.put(question("a"), answer());
  cache.put(question("b"), answer());
  EXPECT_NE(cache.find(question("a")), nullptr);
  cache.put(question("c"), answer());
  EXPECT_EQ(cache.find(question("b")), nullptr);
  EXPECT_NE(cache.find(question("a")), nullptr);
  EXPECT_NE(cache.find(question("c")), nullptr);
  EXPECT_LE(cache.bytes(), 3000u);
  cache.put(question("d"), {share(Bytes(5000, 1)), {}});
  EXPECT_EQ(cache.find(question("d")), nullptr) << "larger than all room";
  EXPECT_EQ(cache.size(), 2u);
  auto numbered = build_request("a");
  numbered.id = 7;
  EXPECT_NE(cache.find(build_question("build:v1", numbered)), nullptr) << "its number is no matter";
  EXPECT_EQ(cache.find(build_question("build:v2", build_request("a"))), nullptr);
}

TEST_F(BuilderTest, AFailureOfTheCandidateIsItsResult) {
  session();
  builder("b", 1);
  ask(1);
  wire::BuildResultT refused;
  refused.body.Set(make_failure(wire::Stage::Build, {ErrorCode::CompilerCrash, "it crashed", {}}));
  built("b", take<wire::AssignT>("b").at(0).lease, std::move(refused));
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  const auto result = decode_build_result(completed[0].built);
  EXPECT_EQ(result->body.AsFailure()->error->code, ErrorCode::CompilerCrash);
}

TEST_F(BuilderTest, ALostWorkersCandidateGoesToAnotherTwiceAtMost) {
  session();
  builder("b1", 1);
  ask(1);
  for (std::uint64_t worker = 1; worker <= 3; ++worker) {
    const PeerId peer = "b" + std::to_string(worker);
    ASSERT_EQ(take<wire::AssignT>(peer).size(), 1u) << worker;
    EXPECT_TRUE(take<wire::CompletedT>("c").empty());
    for (int i = 0; i < 12; ++i) {  // silent for longer than any may be
      beat("c", kClient);
      pass(milliseconds(100));
    }
    if (worker < 3) builder("b" + std::to_string(worker + 1), worker + 1);
  }
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(failure_of(completed[0]), ErrorCode::DeviceLost);
  EXPECT_EQ(core.counters().requeued.load(), 2u);
}

// While its image is on its way, a result is not yet one.
TEST_F(BuilderTest, AWorkerLostBeforeItsImageCameIsReplaced) {
  session();
  builder("b1", 1);
  ask(1);
  built("b1", take<wire::AssignT>("b1").at(0).lease, program_of(Bytes(10, 1)));
  for (int i = 0; i < 12; ++i) {
    beat("c", kClient);
    pass(milliseconds(100));
  }
  builder("b2", 2);
  const auto again = take<wire::AssignT>("b2");
  ASSERT_EQ(again.size(), 1u);
  built("b2", again[0].lease, program_of(Bytes(10, 2)));
  put("b2", content_hash(Bytes(10, 2)), Bytes(10, 2));
  EXPECT_EQ(take<wire::CompletedT>("c").size(), 1u);
}

TEST_F(BuilderTest, NonsenseCostsTheBuilderAndNotTheCandidate) {
  session();
  builder("evil", 1);
  ask(1);
  const auto assigned = take<wire::AssignT>("evil");
  builder("good", 2);
  wire::DoneT garbage;
  garbage.lease = assigned.at(0).lease;  // without a result
  say("evil", kBuilder, std::move(garbage));
  const auto elsewhere = take<wire::AssignT>("good");
  ASSERT_EQ(elsewhere.size(), 1u);
  for (std::uint64_t trial = 2; trial < 6; ++trial) ask(trial);
  EXPECT_TRUE(take<wire::AssignT>("evil").empty()) << "it rests";
  const Bytes image(10, 3);
  built("good", elsewhere[0].lease, program_of(image));
  put("good", content_hash(image), image);
  EXPECT_EQ(take<wire::CompletedT>("c").size(), 1u);
}

TEST_F(BuilderTest, ABlobMustHaveTheHashThatItsProgramNames) {
  session();
  builder("evil", 1);
  ask(1);
  built("evil", take<wire::AssignT>("evil").at(0).lease, program_of(Bytes(10, 1)));
  put("evil", content_hash(Bytes(10, 1)), Bytes(10, 99));
  EXPECT_TRUE(take<wire::CompletedT>("c").empty());
  EXPECT_EQ(core.blob_bytes(), 0u);
  builder("good", 2);
  EXPECT_EQ(take<wire::AssignT>("good").size(), 1u);
  // What nobody asked for is not kept.
  put("good", content_hash(Bytes(10, 5)), Bytes(10, 5));
  EXPECT_EQ(core.blob_bytes(), 0u);
}

TEST_F(BuilderTest, AHangingWorkerThatHeartbeatsLosesItsCandidate) {
  session();
  builder("slow", 1);
  ask(1);
  const LeaseId lease = take<wire::AssignT>("slow").at(0).lease;
  const milliseconds allowed = BrokerTimes().build + BrokerTimes().lease_slack;
  for (const TimePoint end = now + allowed + milliseconds(2000); now < end;) {
    beat("slow", kBuilder, {lease});
    beat("c", kClient);
    pass(milliseconds(500));
  }
  EXPECT_EQ(core.counters().overdue.load(), 1u);
  builder("good", 2);
  EXPECT_EQ(take<wire::AssignT>("good").size(), 1u);
}

TEST_F(BuilderTest, RolesAreKeptApartByName) {
  const auto refusal = [&](const PeerId& peer) {
    const auto rejects = take<wire::RejectT>(peer);
    return rejects.empty() ? std::string() : rejects[0].error->message;
  };
  say("x", kBuilder, builder_hello(1, 1, "pynq"));
  EXPECT_NE(refusal("x").find("'builder' has the role builder"), std::string::npos);
  auto board = agent_hello(2, "board", "build:v1");
  say("y", kAgent, std::move(board));
  EXPECT_NE(refusal("y").find("'agent' has the role agent"), std::string::npos);
  auto alias = agent_hello(2, "board", "pynq");
  alias.devices[0]->aliases = {"build:v1"};
  say("y", kAgent, std::move(alias));
  EXPECT_NE(refusal("y").find("build:"), std::string::npos);
  say("z", kClient, builder_hello(3));
  EXPECT_NE(refusal("z").find("--role builder"), std::string::npos);
  builder("b", 4);
  wire::BlobsWantedT wanted;
  wanted.hashes.push_back(content_hash(Bytes(1, 1)));
  say("b", kBuilder, std::move(wanted));
  EXPECT_FALSE(refusal("b").empty()) << "a builder reads no blobs";
}

TEST_F(BuilderTest, ABuildersSessionTakesNoMeasurementAndTheOtherWay) {
  session();
  builder("b", 1);
  submit("c", 5, 1);
  ASSERT_EQ(take<wire::CompletedT>("c").size(), 1u);
  agent("a", 2, "board-1");
  open("c", 6);
  wire::SubmitT wrong;
  wrong.session = 6;
  wrong.trial = 1;
  wrong.build = encode(build_request());
  say("c", kClient, std::move(wrong));
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(failure_of(completed[0]), ErrorCode::Malformed);
}

// A broker that was started anew and the worker's own half of the protocol, face to face.
TEST_F(BuilderTest, ARestartedBrokerGetsWhatWasBuiltMeanwhile) {
  core.keep_changes();
  session();
  BuildPeerCore worker({"v1", "node", 1, "here"}, 99, now);
  const auto exchange = [&](BrokerCore& broker) {
    for (int turn = 0; turn < 6; ++turn) {
      for (auto& next : worker.take_outgoing()) broker.receive("b", kBuilder, *next.bytes, now);
      for (auto& next : broker.take_outgoing()) {
        if (next.to == "b") worker.receive(*next.bytes, now);
        if (next.to == "c") heard["c"].push_back(std::move(*decode_message(*next.bytes)));
      }
    }
  };
  exchange(core);
  EXPECT_TRUE(worker.welcomed());
  ask(1);
  wire::SubmitT submit;
  submit.session = 5;
  submit.trial = 2;
  submit.build = encode(build_request("second"));
  core.receive("c", kClient, encode(message_of(std::move(submit))), now);
  exchange(core);
  // collect() of ask() above took what was for the worker: it dials in anew, as after a lost link.
  BrokerState state;
  state.instance = 77;
  for (StateChange& change : core.take_changes()) {
    if (auto* session = std::get_if<SavedSession>(&change)) state.sessions.push_back(*session);
    if (auto* trial = std::get_if<SavedTrial>(&change)) state.trials.push_back(*trial);
    if (auto* lease = std::get_if<SavedLease>(&change)) {
      lease->who.role = wire::Role::Agent;  // as rows give it back
      if (lease->key.trial == 2) state.leases.push_back(*lease);
    }
  }
  auto request = worker.next();
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->configuration, "second");
  const Bytes image(20, 8);
  worker.built(request->id, program_of(image), now);
  (void)worker.take_outgoing();  // the broker is gone

  BrokerCore again(77, times, limits());
  again.restore(std::move(state), now);
  again.recheck([](const Permission& who) { return who == kBuilder || who == kClient; }, now);
  for (int i = 0; i < 20; ++i) {
    now += milliseconds(100);
    worker.tick(now);
    exchange(again);
  }
  client("c", 10);  // to the old one: its words are known
  wire::HelloT hello;
  hello.protocol_version = limits::kProtocolVersion;
  hello.instance = 10;
  again.receive("c", kClient, encode(message_of(std::move(hello))), now);
  wire::SubmitT asked;
  asked.session = 5;
  asked.trial = 2;
  asked.build = encode(build_request("second"));
  again.receive("c", kClient, encode(message_of(std::move(asked))), now);
  heard["c"].clear();
  exchange(again);
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(completed[0].trial, 2u);
  EXPECT_EQ(completed[0].attempt, 1u) << "it was not built twice";
  EXPECT_FALSE(completed[0].built.empty());
}

}  // namespace
}  // namespace fettle::fleet
