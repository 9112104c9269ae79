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
  for (const auto& [hash, trials] : waiting_for_blob_) {
    for (const TrialPtr& trial : trials) {
      if (trial->session.client == client.id) return true;
    }
  }
  return false;
}

void BrokerCore::on_put_blob(Client& client, const wire::PutBlobT& piece, ByteView message,
                             TimePoint now) {
  Incoming& incoming = client.incoming;
  const wire::Hash& hash = *piece.hash;
  auto last = incoming.pieces.take(piece);
  if (!last || piece.offset == 0) {
    incoming.blob = {};
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
      return end_upload(hash, false, total_bytes(piece), now);
    }
    incoming.hasher.emplace();
  }
  if (!incoming.hasher) return;
  incoming.hasher->add(piece.bytes);
  incoming.blob.messages.push_back(share({message.begin(), message.end()}));
  incoming.blob.bytes += message.size();
  if (!*last) return;
  client.asked.erase(hash);
  const wire::Hash actual = incoming.hasher->end();
  incoming.hasher.reset();
  StoredBlob blob = std::exchange(incoming.blob, {});
  if (std::memcmp(&actual, &hash, sizeof hash) != 0) {
    ++counters_.malformed;
    return;  // the right bytes may still come
  }
  end_upload(hash, blobs_.put(hash, std::move(blob)), total_bytes(piece), now);
}

// The trials that wait for that blob have it now, or never will.
void BrokerCore::end_upload(const wire::Hash& hash, bool kept, std::uint64_t bytes, TimePoint now) {
  const auto waiting = waiting_for_blob_.find(hash);
  if (waiting == waiting_for_blob_.end()) return;  // another client brought it meanwhile
  const std::vector<TrialPtr> trials = std::move(waiting->second);
  waiting_for_blob_.erase(waiting);
  for (const TrialPtr& trial : trials) {
    if (!kept) {
      fail(trial, wire::Stage::Upload,
           {ErrorCode::TooLarge,
            "the broker's store of " + std::to_string(limits_.blob_bytes >> 20) +
                " MiB has no room for a blob of " + std::to_string(bytes) + " bytes",
            {}},
           now);
    } else if (--trial->blobs_missing == 0) {
      trial->blob_wait_ns = nanoseconds_between(trial->submitted, now);
      trial_ready(trial, now, false);
    }
  }
}

void BrokerCore::send_blob(Agent& agent, const StoredBlob& blob, TimePoint now) {
  agent.link.send(blob.bytes, now);
  for (const SharedBytes& message : blob.messages) send(agent.peer, message);
}

void BrokerCore::on_blobs_wanted(Agent& agent, const std::vector<wire::Hash>& hashes,
                                 TimePoint now) {
  for (const auto& hash : hashes) {
    agent.blobs.insert(hash);
    if (const StoredBlob* blob = blobs_.get(hash)) send_blob(agent, *blob, now);
  }
}

}  // namespace fettle::fleet
