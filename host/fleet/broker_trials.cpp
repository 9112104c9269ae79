// The broker's trials: assignment, outcome, loss.
#include <algorithm>
#include <utility>

#include "host/fleet/broker_core.h"
#include "schemas/wire/clip_outcome.h"
#include "schemas/wire/limits.h"

namespace fettle::fleet {
namespace {

// The nested request or outcome is copied into the message as it came.
SharedBytes pack_assign(LeaseId lease, std::uint32_t device, const Trial& trial) {
  const Bytes& request = *trial.request;
  flatbuffers::FlatBufferBuilder builder(request.size() + 256);
  builder.ForceVectorAlignment(request.size(), 1, 16);
  const auto bytes = builder.CreateVector(request.data(), request.size());
  const auto body = trial.build
                        ? wire::CreateAssign(builder, lease, device, 0, trial.worker_session, bytes)
                        : wire::CreateAssign(builder, lease, device, bytes, trial.worker_session);
  wire::FinishMessageBuffer(builder,
                            wire::CreateMessage(builder, wire::Body::Assign, body.Union()));
  return share({builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()});
}

// Without an `outcome` it is what a builder built.
SharedBytes pack_completed(const Trial& trial, ByteView outcome) {
  const bool built = outcome.empty();
  const ByteView nested = built ? ByteView(*trial.built) : outcome;
  flatbuffers::FlatBufferBuilder builder(nested.size() + 256);
  builder.ForceVectorAlignment(nested.size(), 1, 16);
  const auto bytes = builder.CreateVector(nested.data(), nested.size());
  const auto none = flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>>();
  const auto body =
      wire::CreateCompleted(builder, trial.session.session, trial.number, trial.attempts,
                            built ? none : bytes, built ? bytes : none);
  wire::FinishMessageBuffer(builder,
                            wire::CreateMessage(builder, wire::Body::Completed, body.Union()));
  return share({builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()});
}

}  // namespace

// To a board, unless blobs of it are not here, or not any more.
void BrokerCore::trial_ready(const TrialPtr& trial, TimePoint now, bool front) {
  std::vector<wire::Hash> wanted;
  for (const auto& hash : trial->blobs) {
    if (blobs_.holds(hash)) continue;
    wanted.push_back(hash);  // of each client that waits: the one asked first may be gone
    wait_for_blob(trial, hash, now);
  }
  const auto client = clients_.find(trial->session.client);
  if (client != clients_.end()) ask_for(client->second, wanted);
  if (trial->blobs_missing > 0) return;
  trial->ready = now;
  if (auto placed = scheduler_.enqueue(trial, front)) assign(std::move(*placed), now);
}

void BrokerCore::assign(Placement placement, TimePoint now) {
  Agent& agent = agents_.at(placement.device.agent);
  Trial& trial = *placement.trial;
  if (agent.blobs.size() > 65'536) agent.blobs.clear();  // worst case: sent once more
  for (const auto& hash : trial.blobs) {
    if (!agent.blobs.insert(hash).second) continue;
    send_blob(agent, *blobs_.get(hash, now), now);  // held: trial_ready saw to it
  }
  // Behind the blobs, also those of earlier trials.
  agent.link.send(trial.request->size(), now);
  ++trial.attempts;
  const TimePoint arrives = agent.link.arrived(now);
  const Lease& lease = leases_.grant(placement.trial, placement.device,
                                     {now, arrives, arrives + times_.silence, agent.link.mark(),
                                      allowed_time(agent, placement.device.index, trial)});
  trial.lease = lease.id;
  if (keep_changes_)
    note_change(SavedLease{{trial.session, trial.number},
                           lease.id,
                           agent.who,
                           agent.instance,
                           agent.board.id,
                           placement.device.index,
                           trial.attempts,
                           lease.allowed});
  send(agent.peer, pack_assign(lease.id, placement.device.index, trial));
}

void BrokerCore::give_back(const Lease& lease, TimePoint now) {
  if (auto next = scheduler_.give_back(lease.device, lease.device_key, lease.session)) {
    assign(std::move(*next), now);
  }
}

// Ticks of two clocks are never compared, and who reads a time asks the device's clock what it is.
Result<void> BrokerCore::by_its_clock(const Agent& agent, std::uint32_t index,
                                      const wire::OutcomeT& outcome) {
  const auto* measured = outcome.body.AsMeasurement();
  if (measured == nullptr) return {};
  const auto device = std::find_if(agent.devices.begin(), agent.devices.end(),
                                   [&](const auto& each) { return each.index == index; });
  if (device == agent.devices.end() || device->clock == measured->clock) return {};
  return Error{ErrorCode::Malformed, std::string("a measurement by the clock ") +
                                         wire::EnumNameClockDomain(measured->clock) +
                                         " of a device whose clock is " +
                                         wire::EnumNameClockDomain(device->clock)};
}

void BrokerCore::on_done(Agent& agent, wire::DoneT& done, TimePoint now) {
  auto lease = leases_.finish(done.lease, agent.id);
  if (!lease) {
    ++counters_.stale_results;
    return;
  }
  TimePoint& last_done = agent.last_done.at(lease->device.index);
  const TimePoint started = std::max(lease->granted, last_done);
  last_done = now;
  agent.link.answered(lease->sent, now);
  give_back(*lease, now);
  answered_in_time(agent, lease->device.index, now);
  if (!lease->trial) return;  // canceled meanwhile
  const TrialPtr trial = lease->trial;
  trial->lease = 0;

  auto outcome = decode_outcome(done.outcome);
  if (!outcome) {
    return fail(trial, wire::Stage::Dispatch,
                std::move(outcome).error().in("reading the answer of board " + agent.board.id),
                now);
  }
  if (auto good = by_its_clock(agent, lease->device.index, *outcome); !good) {
    return fail(trial, wire::Stage::Dispatch,
                std::move(good).error().in("reading the answer of board " + agent.board.id), now);
  }
  clip_texts(*outcome);
  const auto* failure = outcome->body.AsFailure();
  if (failure && failure->error->code == ErrorCode::MissingBlob &&
      trial->attempts < limits_.attempts) {
    for (const auto& hash : trial->blobs) agent.blobs.erase(hash);
    lease->trial = trial;
    return requeue_or_fail(std::move(*lease), now, "its board lost a blob");
  }
  // Durations of two clocks are compared here, never their readings. What passed
  // between grant and answer, while no other request of the device was on it, and
  // the agent does not account for, was spent on the way.
  if (!outcome->times) outcome->times = std::make_unique<wire::StageTimesT>();
  auto& times = *outcome->times;
  const std::uint64_t away = nanoseconds_between(started, now);
  times.queue_ns = nanoseconds_between(trial->ready, lease->granted) +
                   nanoseconds_between(lease->granted, started);
  times.upload_ns = trial->blob_wait_ns + (away > times.total_ns ? away - times.total_ns : 0);
  outcome->board_id = agent.board.id;
  outcome->device_index = lease->device.index;
  auto encoded = encode_to_send(*outcome, limits::kRequestBytes);
  if (!encoded) {
    return fail(trial, wire::Stage::Dispatch,
                std::move(encoded).error().in("passing on the answer of board " + agent.board.id),
                now);
  }
  note_reading(agent, lease->device.index, *trial, *outcome, now);
  note_ended(*trial, *outcome, std::chrono::floor<milliseconds>(now - started), now);
  complete(trial, std::move(*encoded));
}

void BrokerCore::requeue_or_fail(Lease lease, TimePoint now, const std::string& why) {
  if (!lease.trial) return;  // canceled meanwhile
  const TrialPtr& trial = lease.trial;
  trial->lease = 0;
  forget_built(*trial);
  if (trial->attempts >= limits_.attempts) {
    ++counters_.device_lost;
    return fail(trial, wire::Stage::Dispatch,
                {ErrorCode::DeviceLost,
                 "lost on each of " + std::to_string(trial->attempts) +
                     " attempts; the last time because " + why,
                 {}},
                now);
  }
  ++counters_.requeued;
  note_change(LeaseEnded{{trial->session, trial->number}, trial->attempts});
  trial_ready(trial, now, true);
}

void BrokerCore::complete(const TrialPtr& trial, ByteView outcome) {
  ++counters_.completed;
  Session* session = find_session(trial->session);
  if (session != nullptr) {
    SharedBytes message = pack_completed(*trial, outcome);
    const Client& client = clients_.at(trial->session.client);
    note_change(SavedOutcome{{session->key, trial->number}, message});
    if (outcome.empty()) keep_built_blobs(*session, *trial);
    keep_completed(client, *session, trial->number, message);
    send(client.peer, std::move(message));
  }
  forget_trial(trial);
}

void BrokerCore::fail(const TrialPtr& trial, wire::Stage stage, Error error, TimePoint now) {
  wire::OutcomeT outcome;
  outcome.body.Set(make_failure(stage, clipped(std::move(error))));
  outcome.times = std::make_unique<wire::StageTimesT>();
  outcome.times->queue_ns = nanoseconds_between(trial->submitted, now);
  note_ended(*trial, outcome, milliseconds(0), now);
  complete(trial, encode(outcome));
}

void BrokerCore::forget_trial(const TrialPtr& trial) {
  forget_built(*trial);
  if (trial->blobs_missing > 0) {
    for (const auto& hash : trial->blobs) {
      const auto waiting = waiting_for_blob_.find(hash);
      if (waiting == waiting_for_blob_.end()) continue;
      std::erase(waiting->second, trial);
      const bool waits = std::any_of(
          waiting->second.begin(), waiting->second.end(),
          [&](const TrialPtr& other) { return other->session.client == trial->session.client; });
      const auto client = clients_.find(trial->session.client);
      if (!waits && client != clients_.end()) client->second.asked.erase(hash);
      if (waiting->second.empty()) waiting_for_blob_.erase(waiting);
    }
  }
  scheduler_.remove(trial);
  for (const auto& hash : trial->blobs) blobs_.unpin(hash);
  if (Session* session = find_session(trial->session)) session->trials.erase(trial->number);
  const auto client = clients_.find(trial->session.client);
  if (client != clients_.end()) {
    accounts_[client->second.who.public_key].request_bytes -= std::exchange(trial->charged, 0);
  }
}

void BrokerCore::drop_trial(const TrialPtr& trial, TimePoint now) {
  if (trial->lease != 0) {
    const Lease* lease = leases_.find(trial->lease);
    const auto agent = agents_.find(lease->device.agent);
    wire::ReleaseT release;
    release.lease = lease->id;
    send(agent->second.peer, std::move(release));
    leases_.release(trial->lease, agent->second.link.arrived(now) + 2 * times_.heartbeat);
    trial->lease = 0;
  }
  forget_trial(trial);
}

void BrokerCore::fail_without_boards(TimePoint now) {
  std::map<std::string, TimePoint> without;
  std::map<std::string, bool> known;  // trials by the thousand ask the same
  for (const TrialPtr& trial : scheduler_.waiting()) {
    // A farm's worker may stand in a cluster's queue for hours, and a session with compilers of its
    // own takes its candidates back by itself.
    if (trial->build) continue;
    const std::string what =
        trial->device_key + "\n" + trial->board_id + "\n" + trial->client_key + "\n" + trial->kind;
    const auto [there, unasked] = known.try_emplace(what, false);
    if (unasked) {
      there->second =
          trial->board_id.empty()
              ? scheduler_.devices_for(trial->device_key, trial->client_key, trial->kind) > 0
              : scheduler_.has_board(trial->device_key, trial->board_id, trial->client_key);
    }
    if (there->second) continue;
    const auto before = without_board_since_.find(what);
    const TimePoint since = before == without_board_since_.end() ? now : before->second;
    without[what] = since;
    if (now - since < times_.no_board) continue;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(times_.no_board).count();
    std::string kept = kept_boards_text(trial->device_key, trial->client_key, now);
    if (kept.empty() && trial->board_id.empty() &&
        scheduler_.devices_for(trial->device_key, trial->client_key, "") > 0) {
      kept = "those that are there are of another kind than its programs are made for";
    }
    fail(trial, wire::Stage::Dispatch,
         {ErrorCode::DeviceLost,
          "no board of the key '" + trial->device_key + "'" +
              (trial->board_id.empty() ? "" : " with the id " + trial->board_id) + " for " +
              std::to_string(seconds) + " s" + (kept.empty() ? "" : ": " + kept),
          {}},
         now);
  }
  without_board_since_ = std::move(without);
}

}  // namespace fettle::fleet
