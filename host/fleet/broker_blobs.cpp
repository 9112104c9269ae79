// The broker's blobs: wanted from clients, taken in pieces, passed on to agents.
#include <algorithm>
#include <cstring>
#include <utility>

#include "host/fleet/broker_core.h"

namespace fettle::fleet {

// Once over one connection: what was asked for over another may have gone down with it.
void BrokerCore::ask_for(Client& client, const std::vector<wire::Hash>& hashes) {
  wire::BlobsWantedT wanted;
  for (const auto& hash : hashes)
    if (client.asked.insert(hash).second) wanted.hashes.push_back(hash);
  if (wanted.hashes.empty()) return;
  send(client.peer, std::move(wanted));
}

void BrokerCore::ask_for_blobs(Client& client, const Trial& trial) {
  std::vector<wire::Hash> wanted;
  for (const auto& hash : trial.blobs)
    if (!blobs_.holds(hash)) wanted.push_back(hash);
  ask_for(client, wanted);
}

// A blob that was asked for may be on its way, and what the client says meanwhile is behind it.
bool BrokerCore::uploads(const Client& client) const {
  if (client.peer.empty()) return false;
  return std::any_of(client.sessions.begin(), client.sessions.end(), [](const auto& session) {
    const auto& trials = session.second.trials;
    return std::any_of(trials.begin(), trials.end(),
                       [](const auto& each) { return each.second->blobs_missing > 0; });
  });
}

void BrokerCore::on_put_blob(Client& client, const wire::PutBlobT& piece, ByteView message,
                             TimePoint now) {
  Incoming& incoming = client.incoming;
  const wire::Hash& hash = *piece.hash;
  const Uploader uploader = Uploader::of_client(client.id);
  auto last = incoming.pieces.take(piece);
  if (!last || piece.offset == 0) {
    blobs_.abandon(uploader);
    incoming.hasher.reset();
  }
  if (!last) {
    ++counters_.malformed;
    client.asked.erase(hash);
    return;
  }
  if (piece.offset == 0) {
    if (waiting_for_blob_.count(hash) == 0) {  // not asked for, or here already
      client.asked.erase(hash);
      return;
    }
    if (total_bytes(piece) > limits_.blob_bytes) {
      client.asked.erase(hash);
      return refuse_upload(client, hash, total_bytes(piece), now);
    }
    incoming.hasher.emplace();
    blobs_.begin(uploader, client.who.public_key, hash);
  }
  if (!incoming.hasher) return;
  incoming.hasher->add(piece.bytes);
  client.last_piece = now;
  const bool kept = blobs_.add(uploader, share({message.begin(), message.end()}), now);
  for (const wire::Hash& gone : blobs_.take_gone()) note_change(BlobGone{gone});
  for (const BlobStore::Lost& lost : blobs_.take_lost()) on_lost_blob(lost, now);
  if (!kept) {
    incoming.hasher.reset();
    client.asked.erase(hash);
    return refuse_upload(client, hash, total_bytes(piece), now);
  }
  if (!*last) return;
  client.asked.erase(hash);
  const wire::Hash actual = incoming.hasher->end();
  incoming.hasher.reset();
  if (std::memcmp(&actual, &hash, sizeof hash) != 0) {
    ++counters_.malformed;
    blobs_.abandon(uploader);
    return;  // the right bytes may still come
  }
  blobs_.finish(uploader, now);
  if (const StoredBlob* blob = keep_changes_ ? blobs_.get(hash, now) : nullptr)
    note_change(SavedBlob{hash, *blob, client.who.public_key});
  blob_is_here(hash, now);
}

// The trials that wait for that blob have it now.
void BrokerCore::blob_is_here(const wire::Hash& hash, TimePoint now) {
  const auto waiting = waiting_for_blob_.find(hash);
  if (waiting == waiting_for_blob_.end()) return;  // another client brought it meanwhile
  const std::vector<TrialPtr> trials = std::move(waiting->second);
  waiting_for_blob_.erase(waiting);
  for (const TrialPtr& trial : trials) {
    if (--trial->blobs_missing > 0) continue;
    trial->blob_wait_ns = nanoseconds_between(trial->submitted, now);
    trial_ready(trial, now, false);
  }
}

// What others wait for they may yet bring themselves.
void BrokerCore::refuse_upload(const Client& client, const wire::Hash& hash, std::uint64_t bytes,
                               TimePoint now) {
  BrokerEvent& event = tell(BrokerEventKind::QuotaHit, client.who, "bytes of blobs");
  event.bytes = blobs_.bytes_of(client.who.public_key) + bytes;
  ++counters_.quota_hits;
  fail_waiting(hash, client.who.public_key, now,
               {ErrorCode::TooLarge,
                "the broker's store of " + std::to_string(limits_.blob_bytes >> 20) +
                    " MiB, of which this key's pending requests have " +
                    std::to_string(blobs_.bytes_of(client.who.public_key) >> 20) +
                    ", has no room for a blob of " + std::to_string(bytes) + " bytes",
                {}});
}

// Ends the trials of one key that wait for that blob.
void BrokerCore::fail_waiting(const wire::Hash& hash, const std::string& public_key, TimePoint now,
                              const Error& error) {
  const auto waiting = waiting_for_blob_.find(hash);
  if (waiting == waiting_for_blob_.end()) return;
  const std::vector<TrialPtr> trials = waiting->second;
  for (const TrialPtr& trial : trials) {
    const auto client = clients_.find(trial->session.client);
    if (client != clients_.end() && client->second.who.public_key == public_key)
      fail(trial, wire::Stage::Upload, error, now);
  }
}

// It had to make room. Trials that no board has yet wait for it again, and their clients are
// asked; one that is on a board is given back by it if the board lacks the blob.
void BrokerCore::on_lost_blob(const BlobStore::Lost& lost, TimePoint now) {
  if (lost.upload) {
    if (const auto builder = agents_.find(lost.upload->agent); builder != agents_.end()) {
      builder->second.incoming.hasher.reset();
      return refuse_built(builder->second, lost.hash, now);
    }
    const auto client = clients_.find(lost.upload->client);
    if (client == clients_.end()) return;
    client->second.incoming.hasher.reset();
    return refuse_upload(client->second, lost.hash, 0, now);
  }
  for (auto& [id, client] : clients_) {
    bool asked = false;
    for (auto& [number, session] : client.sessions) {
      for (auto& [key, trial] : session.trials) {
        if (trial->lease != 0 ||
            !std::binary_search(trial->blobs.begin(), trial->blobs.end(), lost.hash, HashLess())) {
          continue;
        }
        scheduler_.remove(trial);
        wait_for_blob(trial, lost.hash, now);
        if (!std::exchange(asked, true)) ask_for(client, {lost.hash});
      }
    }
  }
}

void BrokerCore::wait_for_blob(const TrialPtr& trial, const wire::Hash& hash, TimePoint now) {
  waiting_for_blob_[hash].push_back(trial);
  ++trial->blobs_missing;
  trial->waits_since = now;
}

// Clients that do not bring what their trials need must not keep other blobs here by them.
void BrokerCore::fail_without_blobs(TimePoint now) {
  std::vector<TrialPtr> late;
  for (const auto& [hash, trials] : waiting_for_blob_) {
    for (const TrialPtr& trial : trials) {
      const auto client = clients_.find(trial->session.client);
      if (client == clients_.end()) continue;
      const TimePoint since = std::max(trial->waits_since, client->second.last_piece);
      if (now - since >= times_.upload) late.push_back(trial);
    }
  }
  for (const TrialPtr& trial : late) {
    if (trial->blobs_missing == 0) continue;  // ended, as it waited for two
    fail(trial, wire::Stage::Upload,
         {ErrorCode::Timeout,
          "a blob of it did not come within " + std::to_string(times_.upload.count() / 1000) + " s",
          {}},
         now);
    trial->blobs_missing = 0;
  }
}

void BrokerCore::send_blob(Agent& agent, const StoredBlob& blob, TimePoint now) {
  agent.link.send(blob.bytes, now);
  for (const SharedBytes& message : blob.messages) send(agent.peer, message);
}

void BrokerCore::on_blobs_wanted(Agent& agent, const std::vector<wire::Hash>& hashes,
                                 TimePoint now) {
  for (const auto& hash : hashes) {
    const StoredBlob* blob = blobs_.get(hash, now);
    if (blob == nullptr) continue;
    agent.blobs.insert(hash);
    send_blob(agent, *blob, now);
  }
}

}  // namespace fettle::fleet
