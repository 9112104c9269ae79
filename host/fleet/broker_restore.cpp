// The core's state after a restart: as it was told before, with nobody connected. Clients and
// agents have times_.no_board to dial in again; what they do not ask for or list is ended then.
#include <algorithm>

#include "host/fleet/broker_core.h"
#include "host/fleet/build_key.h"

namespace fettle::fleet {

void BrokerCore::restore(BrokerState state, TimePoint now) {
  const TimePoint seen = now + std::max(times_.no_board - times_.silence, milliseconds(0));
  const std::size_t outcomes = state.outcomes.size(), trials = state.trials.size();
  for (const SavedPin& pin : state.pins) {
    if (pin.who.boards.empty()) (void)claims_.claim(pin.who, pin.board);
  }
  for (SavedReservation& saved : state.reservations) {
    const milliseconds left = std::min<milliseconds>(saved.left, Reservations::kLongest);
    const auto kept = reservations_.reserve(
        {saved.board_id, std::move(saved.board_name), saved.who, std::move(saved.note), now + left},
        now);
    if (!kept) note_change(ReservationEnded{saved.board_id});  // its time is over
  }
  for (SavedBlob& saved : state.blobs) {
    blobs_.put(saved.hash, std::move(saved.blob), saved.owner, now);
  }
  for (SavedSession& saved : state.sessions) {
    if (clients_.count(saved.key.client) == 0) ++accounts_[saved.who.public_key].clients;
    Client& client = clients_[saved.key.client];
    client.id = saved.key.client;
    client.who = saved.who;
    client.last_seen = seen;
    Session& session = client.sessions[saved.key.session];
    session.key = saved.key;
    session.device_key = std::move(saved.device_key);
    session.name = std::move(saved.name);
    session.kind = std::move(saved.kind);
    session.priority = std::clamp(saved.priority, -limits::kPriority, limits::kPriority);
    session.number = saved.number;
  }
  std::map<TrialKey, TrialPtr> restored;
  for (SavedTrial& saved : state.trials) {
    if (TrialPtr trial = restore_trial(saved, now)) restored[saved.key] = std::move(trial);
  }
  for (SavedLease& saved : state.leases) {
    const auto found = restored.find(saved.key);
    if (found == restored.end()) continue;
    restore_lease(found->second, saved, seen);
    restored.erase(found);
  }
  for (SavedOutcome& saved : state.outcomes) {
    Session* session = find_session(saved.key.session);
    if (session == nullptr) continue;
    restore_built_blobs(*session, saved);
    keep_completed(clients_.at(saved.key.session.client), *session, saved.key.trial,
                   std::move(saved.message));
  }
  for (const auto& [key, trial] : restored) {
    if (trial->request) trial_ready(trial, now, false);
  }
  tell(BrokerEventKind::StateRestored, {},
       std::to_string(state.sessions.size()) + " sessions, " + std::to_string(trials) +
           " trials that have not ended, " + std::to_string(outcomes) + " outcomes, " +
           std::to_string(state.blobs.size()) + " blobs");
}

// Null: its session is gone, or its request is none any more.
TrialPtr BrokerCore::restore_trial(SavedTrial& saved, TimePoint now) {
  Session* session = find_session(saved.key.session);
  if (session == nullptr) return nullptr;
  auto trial = std::make_shared<Trial>();
  trial->session = session->key;
  trial->number = saved.key.trial;
  trial->device_key = session->device_key;
  trial->client_key = clients_.at(session->key.client).who.public_key;
  trial->board_id = std::move(saved.board_id);
  trial->kind = session->kind;
  trial->priority = session->priority;
  trial->worker_session = session->number;
  trial->build = is_build_key(trial->device_key);
  trial->request = std::move(saved.request);
  if (trial->build) {
    const auto request = decode_build_request(*trial->request);
    if (!request) return nullptr;
    trial->question = build_question(trial->device_key, *request);
  }
  const auto longest = longest_time(*trial);
  if (!longest) return nullptr;
  trial->blobs = std::move(saved.blobs);
  trial->longest = *longest;
  trial->attempts = saved.attempts;
  trial->submitted = trial->ready = now;
  if (!charge_request(clients_.at(session->key.client), *trial)) return nullptr;
  for (const auto& hash : trial->blobs) blobs_.pin(hash);
  session->trials[trial->number] = trial;
  return trial;
}

// As of an agent whose connection is gone: it is the agent's if its next Hello lists it.
void BrokerCore::restore_lease(const TrialPtr& trial, SavedLease& saved, TimePoint seen) {
  if (trial->build) saved.who.role = wire::Role::BuildWorker;  // rows do not say
  const auto same = std::find_if(agents_.begin(), agents_.end(), [&](const auto& entry) {
    return entry.second.who.public_key == saved.who.public_key &&
           entry.second.instance == saved.agent_instance;
  });
  const AgentId id = same == agents_.end() ? next_agent_++ : same->first;
  Agent& agent = agents_[id];
  agent.id = id;
  agent.instance = saved.agent_instance;
  agent.who = saved.who;
  agent.board.id = saved.board_id;
  agent.last_seen = seen;
  agent.give_up = TimePoint::max();
  agent.last_done.resize(std::max<std::size_t>(agent.last_done.size(), saved.device + 1));
  trial->attempts = saved.attempts;
  trial->lease = saved.lease;
  leases_.adopt({saved.lease,
                 {id, saved.device},
                 trial,
                 trial->device_key,
                 trial->session,
                 trial->submitted,
                 seen,
                 0,
                 trial->submitted,
                 saved.allowed,
                 std::nullopt});
}

}  // namespace fettle::fleet
