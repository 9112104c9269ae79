// Build workers behind a real broker: the compilers crash, hang and lie; whole workers go; and each
// candidate has one result.
#include <gtest/gtest.h>

#include <map>

#include "host/fleet/build_blobs.h"
#include "host/fleet/build_peer.h"
#include "host/fleet/build_split.h"
#include "tests/fault/fleet_peers.h"

namespace fettle::fleet {
namespace {

using std::chrono::seconds;

class Stop final : public tune::StopSignal {
 public:
  bool requested() const override { return stopped_; }
  int fd() const override { return -1; }
  void stop() { stopped_ = true; }

 private:
  std::atomic<bool> stopped_{false};
};

// A `fettle build-worker` in a thread. To the broker its end is that of a killed one: silence.
class Worker {
 public:
  Worker(const BrokerAddress& broker, std::size_t builders,
         const std::vector<std::string>& arguments = {}, milliseconds deadline = seconds(20)) {
    BuildPeerOptions options;
    options.broker = broker;
    options.plan.version = "v1";
    options.plan.name = "node";
    options.pool.argv = {FLEET_TEST_BUILDER};
    options.pool.argv.insert(options.pool.argv.end(), arguments.begin(), arguments.end());
    options.pool.workers = builders;
    options.pool.deadline = deadline;
    options.pool.memory_bytes = std::uint64_t{1} << 30;
    options.stop = &stop_;
    thread_ = std::thread([this, options = std::move(options)]() mutable {
      auto done = run_build_peer(std::move(options));
      if (!done) error_ = std::move(done).error();
    });
  }
  ~Worker() { end(); }
  void end() {
    stop_.stop();
    if (thread_.joinable()) thread_.join();
  }
  std::string error() {  // of one that ends by itself
    thread_.join();
    return error_ ? error_->text() : "";
  }

 private:
  Stop stop_;
  std::optional<Error> error_;
  std::thread thread_;
};

class BuildWorkers : public ::testing::Test {
 protected:
  BuildWorkers() {
    BrokerOptions options;
    options.keys = new_keys();
    options.allowed = {{"client", wire::Role::Client, client_keys.public_key},
                       {"builder", wire::Role::BuildWorker, builder_keys.public_key},
                       {"agent", wire::Role::Agent, agent_keys.public_key, {}, {"*"}}};
    options.times = {milliseconds(50), milliseconds(500), milliseconds(3000)};
    auto started = Broker::start(std::move(options));
    EXPECT_TRUE(started.ok()) << started.error().text();
    broker = std::move(*started);
  }
  BrokerAddress address(const KeyPair& keys) const {
    return {broker->endpoint(), broker->public_key(), keys};
  }
  std::unique_ptr<RemoteBuilder> open() {
    auto opened = RemoteBuilder::open(address(client_keys), "v1", "test",
                                      [this](const wire::Hash& hash) { there.push_back(hash); });
    EXPECT_TRUE(opened.ok()) << opened.error().text();
    return std::move(*opened);
  }
  static void wait_for(const tune::Builder& builder, std::size_t workers) {
    for (int i = 0; i < 1000 && builder.workers() != workers; ++i)
      std::this_thread::sleep_for(milliseconds(5));
    ASSERT_EQ(builder.workers(), workers);
  }
  static void ask(tune::Builder& builder, std::uint64_t id, const std::string& how) {
    wire::BuildRequestT request;
    request.id = id;
    request.workload = request.target = "{}";
    request.configuration = how;
    builder.submit(std::move(request));
  }
  static std::map<std::uint64_t, wire::BuildResultT> collect(tune::Builder& builder,
                                                             std::size_t count) {
    std::map<std::uint64_t, wire::BuildResultT> all;
    for (const auto end = Clock::now() + seconds(30); all.size() < count && Clock::now() < end;) {
      auto some = builder.poll(milliseconds(100));
      EXPECT_TRUE(some.ok()) << some.error().text();
      if (!some) break;
      for (auto& one : *some) {
        const auto id = one.id;
        EXPECT_TRUE(all.emplace(id, std::move(one.result)).second) << id << " came twice";
      }
    }
    EXPECT_EQ(all.size(), count);
    return all;
  }
  static std::string code_of(const wire::BuildResultT& result) {
    const auto* failure = result.body.AsFailure();
    return failure ? name_of(failure->error->code) : "built";
  }

  KeyPair client_keys = new_keys(), builder_keys = new_keys(), agent_keys = new_keys();
  std::unique_ptr<Broker> broker;
  std::vector<wire::Hash> there;
};

TEST_F(BuildWorkers, ACrashAndAHangCostTheirCandidateAlone) {
  const Worker worker(address(builder_keys), 2, {}, milliseconds(700));
  auto builder = open();
  wait_for(*builder, 2);
  EXPECT_EQ(builder->capacity(), 4u);
  ask(*builder, 1, "good");
  ask(*builder, 2, "segv");
  ask(*builder, 3, "refuse");
  ask(*builder, 4, "hang");
  for (std::uint64_t id = 5; id < 20; ++id) ask(*builder, id, "good");
  auto results = collect(*builder, 19);
  EXPECT_EQ(code_of(results[2]), "CompilerCrash");
  EXPECT_NE(results[2].body.AsFailure()->error->message.find("about to read"), std::string::npos);
  EXPECT_EQ(code_of(results[3]), "BuildError");
  EXPECT_EQ(code_of(results[4]), "BuildTimeout");
  for (const std::uint64_t id : {1, 5, 19}) EXPECT_EQ(code_of(results[id]), "built");
  EXPECT_EQ(broker->counters().requeued.load(), 0u);
}

TEST_F(BuildWorkers, CompilersThatWriteNonsenseCostACandidateEach) {
  const Worker worker(address(builder_keys), 1, {"garbage"});
  auto builder = open();
  wait_for(*builder, 1);
  ask(*builder, 1, "good");
  EXPECT_EQ(code_of(collect(*builder, 1)[1]), "CompilerCrash");
}

// A board runs what a builder brought; the session has never had its bytes.
TEST_F(BuildWorkers, AProgramGoesToTheBoardByItsHash) {
  const Worker worker(address(builder_keys), 1);
  auto builder = open();
  wait_for(*builder, 1);
  ask(*builder, 1, "large");  // three pieces
  auto results = collect(*builder, 1);
  auto* output = results[1].body.AsBuildOutput();
  ASSERT_NE(output, nullptr) << code_of(results[1]);
  EXPECT_TRUE(output->program->images[0]->bytes.empty());
  ASSERT_EQ(there.size(), 1u);
  EXPECT_EQ(to_hex(there[0]), to_hex(content_hash(Bytes(3'000'000, 7))));

  ScriptedAgent agent(broker->endpoint(), broker->public_key(), agent_keys, "board", "null",
                      [](const wire::AssignT&, ScriptedAgent&) { return measured(5); });
  for (int i = 0; i < 1000 && agent.welcomes() == 0; ++i)
    std::this_thread::sleep_for(milliseconds(5));
  SessionPlan plan;
  plan.device_key = "null";
  auto session = Session::open(address(client_keys), plan);
  ASSERT_TRUE(session.ok()) << session.error().text();
  wire::MeasureRequestT request = small_request();
  request.program = std::move(output->program);
  (*session)->blob_is_there(there[0]);
  (*session)->submit(1, request);
  auto outcomes = (*session)->poll(seconds(20));
  ASSERT_TRUE(outcomes.ok() && outcomes->size() == 1);
  EXPECT_NE((*outcomes)[0].outcome.body.AsMeasurement(), nullptr);
  EXPECT_EQ(agent.blobs(), 3);

  // One that the broker never had is told at once, and by name.
  const wire::Hash unknown = content_hash(Bytes(5, 5));
  *request.program->images[0]->blob = unknown;
  (*session)->blob_is_there(unknown);
  (*session)->submit(2, request);
  outcomes = (*session)->poll(seconds(20));
  ASSERT_TRUE(outcomes.ok() && outcomes->size() == 1);
  ASSERT_NE((*outcomes)[0].outcome.body.AsFailure(), nullptr);
  EXPECT_EQ((*outcomes)[0].outcome.body.AsFailure()->error->code, ErrorCode::MissingBlob);
}

TEST_F(BuildWorkers, ALostWorkersCandidatesAreBuiltByAnother) {
  auto first = std::make_unique<Worker>(address(builder_keys), 2);
  const Worker second(address(builder_keys), 2);  // of the same key
  auto builder = open();
  wait_for(*builder, 4);
  for (std::uint64_t id = 1; id <= 24; ++id) ask(*builder, id, "slow");  // half a second each
  std::this_thread::sleep_for(milliseconds(700));
  first->end();
  for (auto& [id, result] : collect(*builder, 24)) EXPECT_EQ(code_of(result), "built") << id;
  EXPECT_GT(broker->counters().requeued.load(), 0u);
  wait_for(*builder, 2);
}

TEST_F(BuildWorkers, BothSidesBuildAndThisMachineDoesWhatTheFleetDoesNot) {
  BuildPoolOptions pool;
  pool.argv = {FLEET_TEST_BUILDER};
  pool.workers = 1;
  pool.memory_bytes = std::uint64_t{1} << 30;
  auto own = BuildPool::start(std::move(pool));
  ASSERT_TRUE(own.ok());
  auto worker = std::make_unique<Worker>(address(builder_keys), 2);
  auto remote = open();
  wait_for(*remote, 2);
  BuildSplit both(own->get(), std::move(remote));
  EXPECT_EQ(both.workers(), 1u + 4u);
  EXPECT_EQ(both.remote_workers(), 2u);
  for (std::uint64_t id = 1; id <= 6; ++id) ask(both, id, "slow");
  auto results = collect(both, 6);
  std::size_t by_hash = 0;
  for (const auto& [id, result] : results)
    by_hash += result.body.AsBuildOutput()->program->images[0]->bytes.empty();
  EXPECT_GE(by_hash, 3u);
  EXPECT_LT(by_hash, 6u);
  for (std::uint64_t id = 11; id <= 16; ++id) ask(both, id, "slow");
  std::this_thread::sleep_for(milliseconds(200));
  worker->end();  // the only one
  for (auto& [id, result] : collect(both, 6)) EXPECT_EQ(code_of(result), "built") << id;
  EXPECT_EQ(both.remote_workers(), 0u);
}

TEST_F(BuildWorkers, AKeyOfAnotherRoleIsRefusedByName) {
  Worker worker(address(client_keys), 1);
  const std::string error = worker.error();
  EXPECT_NE(error.find("the key 'client' is allowed as client, not as builder"), std::string::npos)
      << error;
  EXPECT_NE(error.find("--role builder"), std::string::npos) << error;
}

TEST_F(BuildWorkers, OtherVersionsBuildNothingForThisOne) {
  const Worker worker(address(builder_keys), 1);
  auto other = RemoteBuilder::open(address(client_keys), "v2", "test", [](const wire::Hash&) {});
  ASSERT_TRUE(other.ok());
  auto same = open();
  wait_for(*same, 1);
  EXPECT_EQ((*other)->workers(), 0u);
  ask(**other, 1, "good");
  ask(*same, 1, "good");
  EXPECT_EQ(code_of(collect(*same, 1)[1]), "built");
  // It waits for one of its own, which a cluster may start in hours.
  const auto none = (*other)->poll(seconds(2));
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->empty());
}

}  // namespace
}  // namespace fettle::fleet
