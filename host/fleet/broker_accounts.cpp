// What one client key may have of the broker, over all its connections and sessions: requests
// that wait, outcomes that are kept for it, connections.
#include <algorithm>

#include "host/fleet/broker_core.h"

namespace fettle::fleet {
namespace {

constexpr std::size_t kTrialBytes = 1024;  // of one trial beside its request and hashes
// Of one hash, in the trial and while that waits for its blob.
constexpr std::size_t kHashBytes = 320;

std::string mib(std::size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

// One more connection of that key. Those without sessions make room, the longest silent first.
bool BrokerCore::make_room_for_client(const PeerId& from, const Permission& who, TimePoint now) {
  const auto account = accounts_.find(who.public_key);
  if (account == accounts_.end() || account->second.clients < limits_.clients) return true;
  const Client* idle = nullptr;
  for (const auto& [id, client] : clients_) {
    if (client.who.public_key != who.public_key || !client.sessions.empty()) continue;
    if (idle == nullptr || client.last_seen < idle->last_seen) idle = &client;
  }
  if (idle != nullptr) {
    drop_client(idle->id, "its key has too many connections", now);
    return true;
  }
  ++counters_.quota_hits;
  tell(BrokerEventKind::QuotaHit, who, "connections with sessions");
  reject(from, who, ErrorCode::TooLarge,
         "the key '" + who.name + "' has " + std::to_string(limits_.clients) +
             " connections with open sessions already");
  return false;
}

std::size_t BrokerCore::sessions_of(const std::string& public_key) const {
  std::size_t all = 0;
  for (const auto& [id, client] : clients_)
    if (client.who.public_key == public_key) all += client.sessions.size();
  return all;
}

// TooLarge: it would be over what requests of that key may take while they wait. forget_trial
// gives back what was charged.
Result<void> BrokerCore::charge_request(const Client& client, Trial& trial) {
  const std::size_t bytes = trial.request->size() + trial.blobs.size() * kHashBytes + kTrialBytes;
  Account& account = accounts_[client.who.public_key];
  if (account.request_bytes + bytes > limits_.request_bytes) {
    ++counters_.quota_hits;
    BrokerEvent& event = tell(BrokerEventKind::QuotaHit, client.who, "bytes of requests");
    event.bytes = account.request_bytes + bytes;
    return Error{ErrorCode::TooLarge, "requests of the key '" + client.who.name +
                                          "' that wait take " + mib(account.request_bytes) +
                                          " already, at most " + mib(limits_.request_bytes)};
  }
  account.request_bytes += bytes;
  trial.charged = bytes;
  return {};
}

// Kept for a client that reconnects. Of a key's sessions the one with the most forgets first.
void BrokerCore::keep_completed(const Client& client, Session& session, std::uint64_t trial,
                                SharedBytes message) {
  Account& account = accounts_[client.who.public_key];
  session.completed_bytes += message->size();
  account.completed_bytes += message->size();
  session.completed[trial] = std::move(message);
  session.completed_order.push_back(trial);
  if (session.completed_order.size() > limits_.completed_kept) forget_completed(account, session);
  while (account.completed_bytes > limits_.completed_bytes) {
    Session* largest = &session;
    for (auto& [id, other] : clients_) {
      if (other.who.public_key != client.who.public_key) continue;
      for (auto& [number, each] : other.sessions)
        if (each.completed_bytes > largest->completed_bytes) largest = &each;
    }
    if (largest->completed_order.empty()) return;
    forget_completed(account, *largest);
  }
}

void BrokerCore::forget_completed(Account& account, Session& session) {
  const std::uint64_t trial = session.completed_order.front();
  const auto oldest = session.completed.find(trial);
  session.completed_order.pop_front();
  forget_built_blobs(session, trial);
  if (oldest == session.completed.end()) return;
  session.completed_bytes -= oldest->second->size();
  account.completed_bytes -= oldest->second->size();
  session.completed.erase(oldest);
  note_change(OutcomeForgotten{{session.key, trial}});
}

std::size_t BrokerCore::backlog_limit(const PeerId& peer) const {
  const auto found = peers_.find(peer);
  return found != peers_.end() && found->second.agent != 0 ? limits_.agent_backlog_bytes
                                                           : limits_.client_backlog_bytes;
}

std::string BrokerCore::account_of(const PeerId& peer, const PeerId& speaker,
                                   const std::string& speaker_key) const {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return peer == speaker ? speaker_key : "";
  return found->second.agent != 0 ? "agent " + peer : found->second.who.public_key;
}

void BrokerCore::does_not_read(const PeerId& peer, std::size_t bytes) {
  ++counters_.quota_hits;
  const auto found = peers_.find(peer);
  const Permission who = found == peers_.end() ? Permission{} : found->second.who;
  tell(BrokerEventKind::QuotaHit, who, "bytes that it does not read").bytes = bytes;
}

std::vector<ClientUsage> BrokerCore::usage() const {
  std::vector<ClientUsage> all;
  for (const auto& [key, account] : accounts_) {
    ClientUsage usage;
    usage.public_key = key;
    usage.connections = account.clients;
    usage.request_bytes = account.request_bytes;
    usage.completed_bytes = account.completed_bytes;
    usage.blob_bytes = blobs_.bytes_of(key);
    for (const auto& [id, client] : clients_) {
      if (client.who.public_key != key) continue;
      usage.name = client.who.name;
      usage.sessions += client.sessions.size();
      for (const auto& [number, session] : client.sessions) usage.trials += session.trials.size();
    }
    all.push_back(std::move(usage));
  }
  return all;
}

}  // namespace fettle::fleet
