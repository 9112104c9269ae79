// The broker's builders: agents whose devices are compilers. What they built is complete once the
// broker holds every blob that the program names; until then the lease stays theirs.
#include <algorithm>
#include <cstring>
#include <utility>

#include "host/fleet/broker_core.h"
#include "host/fleet/build_blobs.h"
#include "host/fleet/build_key.h"
#include "host/fleet/pool.h"

namespace fettle::fleet {
namespace {

// Of a builder's result, whose bytes are checked: what it names, sorted; of a failure nothing.
Result<std::vector<wire::Hash>> read_built(ByteView built) {
  auto result = decode_build_result(built);
  if (!result) return std::move(result).error();
  const auto* output = result->body.AsBuildOutput();
  if (output == nullptr) return std::vector<wire::Hash>();
  std::vector<wire::Hash> blobs = blobs_of(*output->program);
  if (blobs.size() > limits::kRequestBlobs) {
    return Error{ErrorCode::Malformed, "a program that names " + std::to_string(blobs.size()) +
                                           " blobs, at most " +
                                           std::to_string(limits::kRequestBlobs)};
  }
  return blobs;
}

}  // namespace

bool BrokerCore::builds(const Agent& agent) { return agent.who.role == wire::Role::BuildWorker; }

std::size_t BrokerCore::builders() const {
  std::size_t all = 0;
  for (const auto& [id, agent] : agents_)
    if (!agent.peer.empty() && builds(agent)) all += agent.devices.size();
  return all;
}

// Boards have no keys of builders, and builders no others.
bool BrokerCore::may_serve(const PeerId& from, const Permission& who, const wire::HelloT& hello) {
  const bool builder = who.role == wire::Role::BuildWorker;
  for (const auto& device : hello.devices) {
    const bool fits =
        std::all_of(device->aliases.begin(), device->aliases.end(),
                    [](const std::string& alias) { return !is_build_key(alias); }) &&
        is_build_key(device->key) == builder &&
        (!builder || (device->aliases.empty() && pools_of(*device)[0] == device->key));
    if (fits) continue;
    ++counters_.unauthorized;
    reject(from, who, ErrorCode::Unauthorized,
           "the key '" + who.name + "' has the role " + role_name(who.role) +
               (builder ? ", which serves keys that start with 'build:' and no others, not '"
                        : ", which serves no key that starts with 'build:', as '") +
               device->key + "'");
    return false;
  }
  return true;
}

void BrokerCore::on_built(Agent& agent, wire::DoneT& done, TimePoint now) {
  const Lease* lease = leases_.find(done.lease);
  if (lease == nullptr || lease->device.agent != agent.id) {
    ++counters_.stale_results;
    return say_release(agent, done.lease);  // so that it forgets the result
  }
  const TrialPtr trial = lease->trial;
  if (!trial) return finish_build(agent, done.lease, now);  // canceled meanwhile
  auto blobs = read_built(done.built);
  if (!blobs) {
    return on_nonsense(agent, done.lease,
                       "build worker " + agent.board.id + " answered what cannot be read (" +
                           blobs.error().text() + ")",
                       now);
  }
  forget_built(*trial);  // it may say the same again
  trial->built = share(std::move(done.built));
  trial->built_blobs = std::move(*blobs);
  wire::BlobsWantedT wanted;
  for (const auto& hash : trial->built_blobs) {
    blobs_.pin(hash);
    if (!blobs_.holds(hash)) wanted.hashes.push_back(hash);
  }
  if (wanted.hashes.empty()) return finish_build(agent, done.lease, now);
  agent.uploading.insert(done.lease);
  send(agent.peer, std::move(wanted));
}

void BrokerCore::forget_built(Trial& trial) {
  for (const auto& hash : trial.built_blobs) blobs_.unpin(hash);
  trial.built_blobs.clear();
  trial.built = nullptr;
}

// The session is told of the program by its hashes: the blobs stay until it had time to use them.
void BrokerCore::keep_built_blobs(Session& session, const Trial& trial) {
  if (trial.built_blobs.empty()) return;
  for (const auto& hash : trial.built_blobs) blobs_.pin(hash);
  session.built_blobs[trial.number] = trial.built_blobs;
}

void BrokerCore::forget_built_blobs(Session& session, std::uint64_t trial) {
  const auto kept = session.built_blobs.find(trial);
  if (kept == session.built_blobs.end()) return;
  for (const auto& hash : kept->second) blobs_.unpin(hash);
  session.built_blobs.erase(kept);
}

void BrokerCore::restore_built_blobs(Session& session, const SavedOutcome& saved) {
  if (!is_build_key(session.device_key)) return;
  const auto message = decode_message(*saved.message);
  const auto* completed = message ? message->body.AsCompleted() : nullptr;
  if (completed == nullptr || completed->built.empty()) return;
  auto blobs = read_built(completed->built);
  if (!blobs) return;
  for (const auto& hash : *blobs) blobs_.pin(hash);
  session.built_blobs[saved.key.trial] = std::move(*blobs);
}

void BrokerCore::say_release(const Agent& agent, LeaseId lease) {
  wire::ReleaseT release;
  release.lease = lease;
  send(agent.peer, std::move(release));
}

// All of it is here, or nobody wants it any more.
void BrokerCore::finish_build(Agent& agent, LeaseId id, TimePoint now) {
  auto lease = leases_.finish(id, agent.id);
  agent.uploading.erase(id);
  agent.link.answered(lease->sent, now);
  say_release(agent, id);  // before what it is given next: it never lists more than it can hold
  give_back(*lease, now);
  answered_in_time(agent, lease->device.index, now);
  if (!lease->trial) return;
  const TrialPtr trial = lease->trial;
  trial->lease = 0;
  // A program has images; a failure may be the environment's, and is nothing to rely on.
  if (!trial->built_blobs.empty())
    build_cache_.put(trial->question, {trial->built, trial->built_blobs});
  complete(trial, {});
}

// True: what was built before is the answer.
bool BrokerCore::answer_from_cache(const TrialPtr& trial) {
  const BuildCache::Answer* known = build_cache_.find(trial->question);
  if (known == nullptr) return false;
  const auto& blobs = known->blobs;
  if (!std::all_of(blobs.begin(), blobs.end(), [&](const auto& b) { return blobs_.holds(b); })) {
    build_cache_.forget(trial->question);
    return false;
  }
  trial->built = known->built;
  trial->built_blobs = blobs;
  for (const auto& hash : blobs) blobs_.pin(hash);
  ++counters_.known_builds;
  complete(trial, {});
  return true;
}

// A builder that does not speak as it should. Others get its candidate, and for a while all others.
void BrokerCore::on_nonsense(Agent& agent, LeaseId id, const std::string& why, TimePoint now) {
  ++counters_.malformed;
  BrokerEvent& event = tell(BrokerEventKind::PeerRejected, agent.who, why);
  event.board_id = agent.board.id;
  event.lease = id;
  for (const auto& device : agent.devices) {
    standings_.overdue({agent.who.public_key, agent.board.id, device.index}, now);
    scheduler_.remove_device({agent.id, device.index});
  }
  auto lease = leases_.finish(id, agent.id);
  agent.uploading.erase(id);
  say_release(agent, id);
  give_back(*lease, now);
  requeue_or_fail(std::move(*lease), now, why);
  for (const auto& device : agent.devices) tell_sessions_of_device(agent, device.index);
}

// The results of that builder which may be complete now.
void BrokerCore::finish_uploads(Agent& agent, TimePoint now) {
  const std::set<LeaseId> uploading = agent.uploading;
  for (const LeaseId id : uploading) {
    const Lease* lease = leases_.find(id);
    if (lease == nullptr || !lease->trial || !lease->trial->built) {
      agent.uploading.erase(id);
      continue;
    }
    const auto& blobs = lease->trial->built_blobs;
    if (std::all_of(blobs.begin(), blobs.end(), [&](const auto& b) { return blobs_.holds(b); })) {
      finish_build(agent, id, now);
    }
  }
}

// The results of that builder which name the blob.
std::vector<LeaseId> BrokerCore::uploads_of(const Agent& agent, const wire::Hash& hash) const {
  std::vector<LeaseId> found;
  for (const LeaseId id : agent.uploading) {
    const Lease* lease = leases_.find(id);
    if (lease == nullptr || !lease->trial) continue;
    const auto& blobs = lease->trial->built_blobs;
    if (std::binary_search(blobs.begin(), blobs.end(), hash, HashLess())) found.push_back(id);
  }
  return found;
}

void BrokerCore::on_built_blob(Agent& agent, const wire::PutBlobT& piece, ByteView message,
                               TimePoint now) {
  Incoming& incoming = agent.incoming;
  const wire::Hash hash = *piece.hash;
  const Uploader uploader = Uploader::builder(agent.id);
  const auto last = incoming.pieces.take(piece);
  if (!last || piece.offset == 0) {
    blobs_.abandon(uploader);
    incoming.hasher.reset();
  }
  if (!last) {
    ++counters_.malformed;
    return;
  }
  if (piece.offset == 0) {
    if (blobs_.holds(hash)) return finish_uploads(agent, now);  // another one brought it
    const std::vector<LeaseId> wanting = uploads_of(agent, hash);
    if (wanting.empty()) return;
    if (total_bytes(piece) > limits::kImageBytes) {
      return on_nonsense(agent, wanting[0],
                         "build worker " + agent.board.id + " sends a blob of " +
                             std::to_string(total_bytes(piece)) + " bytes",
                         now);
    }
    // Charged to the client whose candidate it is.
    const SessionKey& session = leases_.find(wanting[0])->trial->session;
    incoming.hasher.emplace();
    blobs_.begin(uploader, clients_.at(session.client).who.public_key, hash);
  }
  if (!incoming.hasher) return;
  incoming.hasher->add(piece.bytes);
  const bool kept = blobs_.add(uploader, share({message.begin(), message.end()}), now);
  for (const wire::Hash& gone : blobs_.take_gone()) note_change(BlobGone{gone});
  for (const BlobStore::Lost& lost : blobs_.take_lost()) on_lost_blob(lost, now);
  if (!kept) {
    incoming.hasher.reset();
    return refuse_built(agent, hash, now);
  }
  if (!*last) return;
  const wire::Hash actual = incoming.hasher->end();
  incoming.hasher.reset();
  if (std::memcmp(&actual, &hash, sizeof hash) != 0) {
    blobs_.abandon(uploader);
    for (const LeaseId id : uploads_of(agent, hash)) {
      on_nonsense(agent, id,
                  "build worker " + agent.board.id + " sent a blob that has not the hash it says",
                  now);
    }
    return;
  }
  blobs_.finish(uploader, now);
  if (const StoredBlob* blob = keep_changes_ ? blobs_.get(hash, now) : nullptr) {
    note_change(SavedBlob{hash, *blob, blobs_.owner_of(hash)});
  }
  blob_is_here(hash, now);
  finish_uploads(agent, now);
}

// There is no room for the blob: nothing that any other builder could do about it.
void BrokerCore::refuse_built(Agent& agent, const wire::Hash& hash, TimePoint now) {
  ++counters_.quota_hits;
  tell(BrokerEventKind::QuotaHit, agent.who, "bytes of blobs").board_id = agent.board.id;
  for (const LeaseId id : uploads_of(agent, hash)) {
    auto lease = leases_.finish(id, agent.id);
    agent.uploading.erase(id);
    say_release(agent, id);
    give_back(*lease, now);
    if (!lease->trial) continue;
    lease->trial->lease = 0;
    fail(lease->trial, wire::Stage::Upload,
         {ErrorCode::TooLarge, "the broker's store of blobs has no room for the program", {}}, now);
  }
}

}  // namespace fettle::fleet
