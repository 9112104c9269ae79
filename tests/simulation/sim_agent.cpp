// An agent's words and what it does with the broker's (sim_agent.h).
#include "tests/simulation/sim_agent.h"

#include <algorithm>

#include "host/fleet/session_core.h"
#include "schemas/wire/blob_pieces.h"
#include "schemas/wire/limits.h"

namespace fettle::fleet::simulation {
namespace {

constexpr milliseconds kBlobPatience{30'000};  // agent/server/stage_limits.h

wire::OutcomeT outcome_of(double median) {
  wire::MeasurementT measurement;
  measurement.median = median;
  measurement.ticks_per_second = 1e9;
  measurement.number = 1;
  measurement.samples.emplace_back(1, 1u);
  wire::OutcomeT outcome;
  outcome.body.Set(std::move(measurement));
  outcome.times = std::make_unique<wire::StageTimesT>();
  outcome.times->total_ns = 1000;
  return outcome;
}

}  // namespace

SimAgent::SimAgent(Events& events, Network& network, Random random, AgentPlan plan, Broken broken)
    : events_(events),
      network_(network),
      random_(random),
      plan_(std::move(plan)),
      broken_(std::move(broken)) {
  start_after(random_.between(0, 1000));
}

void SimAgent::start_after(milliseconds down) {
  events_.after(down, [this, run = run_] {
    if (run == run_ && !runs()) start();
  });
}

void SimAgent::start() {
  const std::uint64_t run = ++run_;
  instance_ = random_.next() | 1;
  broker_ = 0;
  welcomed_ = false;
  last_hello_ = {};
  last_heard_ = last_beat_ = events_.now();
  blobs_.clear();
  queues_.clear();
  queues_.resize(plan_.depths.size());
  endpoint_ = network_.dial(plan_.who, [this, run](ByteView bytes) {
    if (run == run_ && runs()) receive(bytes);
  });
  tick();
}

void SimAgent::end() {
  ++run_;
  if (runs()) network_.close(*endpoint_);
  endpoint_.reset();
}

std::vector<LeaseId> SimAgent::leases() const {
  std::vector<LeaseId> all;
  for (const Queue& queue : queues_) {
    for (const Held& trial : queue.trials) all.push_back(trial.lease);
  }
  return all;
}

void SimAgent::say_hello() {
  if (!runs()) return;
  wire::HelloT hello;
  hello.protocol_version = limits::kProtocolVersion;
  hello.role = wire::Role::Agent;
  hello.instance = instance_;
  hello.board = std::make_unique<wire::BoardT>();
  hello.board->id = plan_.board;
  hello.board->agent_instance = instance_;
  for (std::size_t i = 0; i < plan_.depths.size(); ++i) {
    auto device = std::make_unique<wire::DeviceInfoT>();
    device->key = plan_.key;
    if (has(AgentPlan::kManyKeys)) device->aliases = {"key-" + std::to_string(random_.below(1000))};
    device->index = static_cast<std::uint32_t>(i);
    device->queue_depth = plan_.depths[i];
    hello.devices.push_back(std::move(device));
  }
  hello.leases = leases();
  if (has(AgentPlan::kUnknownLeases)) hello.leases.push_back(random_.next());
  say(std::move(hello));
  last_hello_ = events_.now();
}

void SimAgent::tick() {
  const TimePoint now = events_.now();
  if (welcomed_ && now - last_heard_ > silence_) welcomed_ = false;
  if (!welcomed_) {
    if (last_hello_ == TimePoint() || now - last_hello_ >= milliseconds(1000)) say_hello();
  } else if (now - last_beat_ >= heartbeat_) {
    last_beat_ = now;
    wire::HeartbeatT beat;
    beat.instance = instance_;
    beat.leases = leases();
    if (has(AgentPlan::kUnknownLeases)) {
      for (int i = 0; i < 20; ++i) beat.leases.push_back(random_.next());
    }
    say(std::move(beat));
    if (plan_.habits != 0) misbehave();
  }
  events_.after(milliseconds(100), [this, run = run_] {
    if (run == run_ && runs()) tick();
  });
}

void SimAgent::receive(ByteView bytes) {
  auto message = decode_message(bytes);
  if (!message) return;
  last_heard_ = events_.now();
  auto& body = message->body;
  if (const auto* welcome = body.AsWelcome()) {
    if (broker_ != 0 && broker_ != welcome->broker_instance) {
      for (Queue& queue : queues_) queue.trials.clear();
    }
    broker_ = welcome->broker_instance;
    heartbeat_ = milliseconds(welcome->heartbeat_ms);
    silence_ = milliseconds(welcome->silence_ms);
    welcomed_ = true;
  } else if (const auto* reject = body.AsReject()) {
    if (plan_.habits != 0) return;
    broken_("an honest agent was rejected: " + reject->error->message);
  } else if (body.AsHelloNeeded()) {
    welcomed_ = false;
    say_hello();
  } else if (const auto* beat = body.AsHeartbeat()) {
    if (broker_ == 0 || beat->instance == broker_) return;
    welcomed_ = false;
    say_hello();
  } else if (const auto* blob = body.AsPutBlob()) {
    if (blob->offset + blob->bytes.size() < total_bytes(*blob)) return;
    blobs_.insert(*blob->hash);
    for (Queue& queue : queues_) {
      for (Held& trial : queue.trials) trial.missing.erase(*blob->hash);
    }
    work();
  } else if (const auto* assign = body.AsAssign()) {
    on_assign(*assign);
  } else if (const auto* release = body.AsRelease()) {
    if (drop(release->lease)) work();
  }
}

void SimAgent::on_assign(const wire::AssignT& assign) {
  const auto request = decode_request(assign.request);
  if (assign.device_index >= queues_.size()) {
    return broken_("an agent was assigned a trial of a device that it does not have");
  }
  if (!request) {  // a hostile client's
    wire::OutcomeT failed;
    failed.body.Set(make_failure(wire::Stage::Load, request.error()));
    return answer(assign.lease, failed);
  }
  Queue& queue = queues_[assign.device_index];
  Held trial{assign.lease, assign.session, request->options->racing_bound_ns, {}, false};
  for (const wire::Hash& hash : blobs_of(*request)) {
    if (blobs_.count(hash) == 0) trial.missing.insert(hash);
  }
  if (!trial.missing.empty()) {
    wire::BlobsWantedT wanted;
    wanted.hashes.assign(trial.missing.begin(), trial.missing.end());
    say(std::move(wanted));
    events_.after(kBlobPatience, [this, run = run_, lease = trial.lease] {
      if (run != run_ || !runs()) return;
      for (Queue& each : queues_) {
        for (Held& held : each.trials) {
          if (held.lease != lease || held.missing.empty()) continue;
          wire::OutcomeT failed;
          failed.body.Set(make_failure(wire::Stage::Upload, {ErrorCode::MissingBlob, "late", {}}));
          drop(lease);
          answer(lease, failed);
          return work();
        }
      }
    });
  }
  queue.trials.push_back(std::move(trial));
  // There may be more than the queue is deep, for a moment: an agent that was given up and let in
  // again, over one connection, still hears of what it was assigned before.
  work();
}

void SimAgent::work() {
  for (Queue& queue : queues_) {
    if (queue.trials.empty() || queue.trials.front().started) continue;
    const auto next = std::find_if(queue.trials.begin(), queue.trials.end(),
                                   [](const Held& trial) { return trial.missing.empty(); });
    if (next == queue.trials.end()) continue;
    std::rotate(queue.trials.begin(), next, next + 1);
    queue.trials.front().started = true;
    if (has(AgentPlan::kNeverDone)) continue;
    events_.after(random_.between(20, random_.chance(90) ? 1000 : 8000),
                  [this, run = run_, lease = queue.trials.front().lease] {
                    if (run == run_ && runs()) finish(lease);
                  });
  }
}

void SimAgent::finish(LeaseId lease) {
  for (const Queue& queue : queues_) {
    if (queue.trials.empty() || queue.trials.front().lease != lease) continue;
    const double marker = queue.trials.front().marker;
    if (on_measured_) on_measured_(queue.trials.front().session, marker);
    drop(lease);
    answer(lease, outcome_of(marker));
    if (has(AgentPlan::kDoneTwice)) answer(lease, outcome_of(kForged));
    return work();
  }
}

void SimAgent::answer(LeaseId lease, const wire::OutcomeT& outcome) {
  wire::DoneT done;
  done.lease = lease;
  done.outcome = encode(outcome);
  say(std::move(done));
}

bool SimAgent::drop(LeaseId lease) {
  for (Queue& queue : queues_) {
    if (std::erase_if(queue.trials, [&](const Held& held) { return held.lease == lease; }) > 0) {
      return true;
    }
  }
  return false;
}

void SimAgent::misbehave() {
  if (has(AgentPlan::kForges) && leases_of_others_) {
    for (LeaseId lease : leases_of_others_()) {
      if (random_.chance(30)) answer(lease, outcome_of(kForged));
    }
    answer(random_.next(), outcome_of(kForged));
  }
  if (has(AgentPlan::kWrongRole)) {
    wire::OpenSessionT open;
    open.session = 1;
    open.device_key = plan_.key;
    say(std::move(open));
    wire::SubmitT submit;
    submit.session = 1;
    say(std::move(submit));
  }
  if (has(AgentPlan::kGarbage)) {
    Bytes bytes = encode(message_of(wire::HeartbeatT()));
    bytes.resize(random_.below(bytes.size()));
    network_.send(*endpoint_, share(std::move(bytes)));
  }
  if (has(AgentPlan::kNewInstances) && random_.chance(30)) {
    instance_ = random_.next() | 1;
    say_hello();
  }
  if (has(AgentPlan::kManyKeys)) say_hello();
  if (has(AgentPlan::kWantsBlobs)) {
    wire::BlobsWantedT wanted;
    for (int i = 0; i < 5; ++i)
      wanted.hashes.push_back(content_hash(Bytes(8, random_.next() & 255)));
    say(std::move(wanted));
  }
}

}  // namespace fettle::fleet::simulation
