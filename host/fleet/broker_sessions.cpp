// The broker's sessions: opened, told of their boards, given trials, closed.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "host/fleet/broker_core.h"
#include "host/fleet/build_key.h"
#include "host/fleet/pool.h"
#include "schemas/wire/limits.h"

namespace fettle::fleet {
namespace {

std::unique_ptr<wire::ErrorT> wire_error(ErrorCode code, std::string message) {
  return std::make_unique<wire::ErrorT>(to_wire({code, std::move(message), {}}));
}

}  // namespace

BrokerCore::Session* BrokerCore::find_session(const SessionKey& key) {
  const auto client = clients_.find(key.client);
  if (client == clients_.end()) return nullptr;
  const auto session = client->second.sessions.find(key.session);
  return session == client->second.sessions.end() ? nullptr : &session->second;
}

SavedSession BrokerCore::saved(const Session& session) const {
  return {session.key,        clients_.at(session.key.client).who,
          session.device_key, session.name,
          session.priority,   session.number,
          session.kind};
}

std::string BrokerCore::kind_of_most(const std::string& pool, const std::string& client_key) const {
  if (is_build_key(pool)) return "";
  // Boards of each kind: those that take its trials, those reserved for this client, and where
  // there are none, those that take what names them.
  std::map<std::string, std::set<std::string>> free, reserved, others;
  std::vector<std::string> seen;  // in the order of the agents
  for (const auto& [id, agent] : agents_) {
    for (std::size_t i = 0; i < agent.kinds.size(); ++i) {
      const std::uint32_t index = agent.devices[i].index;
      if (!scheduler_.knows({id, index}) || !works_in(agent.devices[i], pool)) continue;
      const DeviceAccess access = access_of(agent, index);
      if (!access.only_of.empty() && access.only_of != client_key) continue;
      auto& among = access.named_only ? others : access.only_of.empty() ? free : reserved;
      among[access.kind].insert(agent.board.id);
      seen.push_back(access.kind);
    }
  }
  auto& among = !reserved.empty() ? reserved : !free.empty() ? free : others;
  std::string most;
  for (const std::string& kind : seen) {
    if (most.empty() || among[kind].size() > among[most].size()) most = kind;
  }
  return most;
}

void BrokerCore::set_kind(Session& session, const std::string& kind) {
  if (kind.empty() || !session.kind.empty()) return;
  session.kind = kind;
  for (const auto& [number, trial] : session.trials) trial->kind = kind;
  note_change(saved(session));
}

wire::SessionOpenedT BrokerCore::describe(const Session& session) const {
  wire::SessionOpenedT opened;
  opened.session = session.key.session;
  opened.broker_instance = instance_;
  const std::string& mine = clients_.at(session.key.client).who.public_key;
  opened.boards = scheduler_.devices_for(session.device_key, mine, session.kind);
  opened.unlike = scheduler_.devices_for(session.device_key, mine, "") - opened.boards;
  for (const auto& [id, agent] : agents_) {
    const std::string only_of = access_of(agent, 0).only_of;
    if (agent.peer.empty() || (!only_of.empty() && only_of != mine)) continue;
    for (const auto& device : agent.devices) {
      if (!works_in(device, session.device_key)) continue;
      const std::string kind = access_of(agent, device.index).kind;
      if (!session.kind.empty() && !kind.empty() && kind != session.kind) continue;
      opened.board = std::make_unique<wire::BoardT>(agent.board);
      opened.device = std::make_unique<wire::DeviceInfoT>(device);
      return opened;
    }
  }
  return opened;
}

std::vector<Outgoing> BrokerCore::take_outgoing() {
  if (const auto changed = std::exchange(changed_pools_, {}); !changed.empty()) {
    for (const auto& [id, client] : clients_) {
      for (const auto& [number, session] : client.sessions) {
        if (changed.contains(session.device_key)) send(client.peer, describe(session));
      }
    }
  }
  return std::exchange(outgoing_, {});
}

void BrokerCore::on_open_session(Client& client, const wire::OpenSessionT& open, TimePoint now) {
  const auto known = client.sessions.find(open.session);
  if (known != client.sessions.end()) {
    set_kind(known->second, open.kind);
    return send(client.peer, describe(known->second));
  }
  wire::SessionOpenedT refused;
  refused.session = open.session;
  refused.broker_instance = instance_;
  if (client.sessions.size() >= limits_.sessions ||
      sessions_of(client.who.public_key) >= limits_.sessions_of_key) {
    ++counters_.quota_hits;
    tell(BrokerEventKind::QuotaHit, client.who, "sessions");
    refused.error =
        wire_error(ErrorCode::TooLarge, "a client has at most " + std::to_string(limits_.sessions) +
                                            " sessions open, and its key " +
                                            std::to_string(limits_.sessions_of_key));
    return send(client.peer, std::move(refused));
  }
  const auto pools = pools_named(open.device_key);
  const auto pool = std::find_if(pools.begin(), pools.end(), [&](const std::string& name) {
    // Builders come and go: there need not be one.
    return scheduler_.devices_of(name) > 0 || is_build_key(name);
  });
  if (pool == pools.end()) {
    std::string known_keys;
    for (const auto& [key, status] : scheduler_.status()) {
      if (status.total > 0) known_keys += (known_keys.empty() ? "" : ", ") + key;
    }
    refused.error = wire_error(
        ErrorCode::NotFound,
        "no board with the key '" + open.device_key + "'; " +
            (known_keys.empty() ? "no board has dialled in yet: start fettle-agent on one"
                                : "this broker has: " + known_keys));
    return send(client.peer, std::move(refused));
  }
  if (!is_build_key(*pool) && !scheduler_.reaches(*pool, client.who.public_key)) {
    refused.error =
        wire_error(ErrorCode::NotFound, "no board of the key '" + *pool + "' is free for you: " +
                                            kept_boards_text(*pool, client.who.public_key, now));
    return send(client.peer, std::move(refused));
  }
  Session& session = client.sessions[open.session];
  session.key = {client.id, open.session};
  session.device_key = *pool;
  session.name = open.name;
  session.kind = open.kind.empty() ? kind_of_most(*pool, client.who.public_key) : open.kind;
  session.priority = std::clamp(open.priority, -limits::kPriority, limits::kPriority);
  session.number = next_session_++;
  if (next_session_ == 0) next_session_ = 1;
  tell(BrokerEventKind::SessionOpened, client.who, session.device_key).session = session.number;
  note_change(saved(session));
  send(client.peer, describe(session));
}

void BrokerCore::on_close_session(Client& client, std::uint64_t number, TimePoint now) {
  const auto found = client.sessions.find(number);
  if (found == client.sessions.end()) return;
  const auto trials = found->second.trials;
  for (const auto& [id, trial] : trials) drop_trial(trial, now);
  scheduler_.forget_session(found->second.key);
  while (!found->second.built_blobs.empty())
    forget_built_blobs(found->second, found->second.built_blobs.begin()->first);
  accounts_[client.who.public_key].completed_bytes -= found->second.completed_bytes;
  tell(BrokerEventKind::SessionClosed, client.who).session = found->second.number;
  note_change(SessionEnded{found->second.key});
  client.sessions.erase(found);
}

void BrokerCore::on_submit(Client& client, wire::SubmitT& submit, TimePoint now) {
  const auto found = client.sessions.find(submit.session);
  if (found == client.sessions.end()) {
    wire::SessionOpenedT gone;  // the client opens it again and submits again
    gone.session = submit.session;
    gone.broker_instance = instance_;
    gone.error = wire_error(ErrorCode::NotFound, "this session is not open");
    return send(client.peer, std::move(gone));
  }
  Session& session = found->second;
  if (const auto known = session.trials.find(submit.trial); known != session.trials.end()) {
    return ask_for_blobs(client, *known->second);  // on its way: the client reconnected
  }
  const auto completed = session.completed.find(submit.trial);
  if (completed != session.completed.end()) return send(client.peer, completed->second);

  ++counters_.submitted;
  auto trial = std::make_shared<Trial>();
  trial->session = session.key;
  trial->number = submit.trial;
  trial->device_key = session.device_key;
  trial->client_key = client.who.public_key;
  trial->board_id = std::move(submit.board_id);
  trial->kind = session.kind;
  trial->priority = session.priority;
  trial->worker_session = session.number;
  trial->build = is_build_key(session.device_key);
  trial->request = share(std::move(trial->build ? submit.build : submit.request));
  if (trial->build) submit.blobs.clear();  // a builder needs none
  trial->submitted = trial->ready = now;
  std::sort(submit.blobs.begin(), submit.blobs.end(), HashLess());
  const auto same = [](const wire::Hash& a, const wire::Hash& b) {
    return !HashLess()(a, b) && !HashLess()(b, a);
  };
  submit.blobs.erase(std::unique(submit.blobs.begin(), submit.blobs.end(), same),
                     submit.blobs.end());
  trial->blobs = std::move(submit.blobs);
  const bool full = session.trials.size() >= limits_.in_flight;
  const auto fits = charge_request(client, *trial);
  if (!fits) trial->request = nullptr;
  session.trials[trial->number] = trial;
  for (const auto& hash : trial->blobs) blobs_.pin(hash);
  if (!fits) return fail(trial, wire::Stage::Dispatch, fits.error(), now);
  if (trial->request->empty()) {
    return fail(trial, wire::Stage::Dispatch,
                {ErrorCode::Malformed, "submit without a request", {}}, now);
  }
  if (full) {
    return fail(trial, wire::Stage::Dispatch,
                {ErrorCode::TooLarge,
                 "over " + std::to_string(limits_.in_flight) + " trials in flight in one session",
                 {}},
                now);
  }
  if (trial->build) {
    const auto request = decode_build_request(*trial->request);
    if (!request) return fail(trial, wire::Stage::Dispatch, request.error(), now);
    trial->question = build_question(session.device_key, *request);
    if (answer_from_cache(trial)) return;
  }
  const auto longest = longest_time(*trial);
  if (!longest) return fail(trial, wire::Stage::Dispatch, longest.error(), now);
  trial->longest = *longest;
  if (keep_changes_)
    note_change(
        SavedTrial{{session.key, trial->number}, trial->board_id, trial->request, trial->blobs, 0});
  trial_ready(trial, now, false);
}

void BrokerCore::on_cancel(Client& client, const wire::CancelT& cancel, TimePoint now) {
  const Session* session = find_session({client.id, cancel.session});
  if (session == nullptr) return;
  const auto found = session->trials.find(cancel.trial);
  if (found == session->trials.end() || found->second->lease != 0) return;  // a board has it
  const TrialPtr trial = found->second;
  fail(trial, wire::Stage::Dispatch, {ErrorCode::Canceled, "canceled before a board took it", {}},
       now);
}

}  // namespace fettle::fleet
