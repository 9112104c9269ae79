// The broker's agents: their Hello, which board they may be, their heartbeats and their end.
#include <algorithm>

#include "host/fleet/broker_core.h"
#include "host/fleet/device_kind.h"
#include "host/fleet/pool.h"
#include "schemas/wire/limits.h"

namespace fettle::fleet {

std::size_t BrokerCore::agents() const {
  return static_cast<std::size_t>(std::count_if(
      agents_.begin(), agents_.end(),
      [](const auto& entry) { return !entry.second.peer.empty() && !builds(entry.second); }));
}

std::size_t BrokerCore::waiting() const {
  std::size_t all = 0;
  for (const auto& [key, status] : scheduler_.status()) all += status.pending;
  return all;
}

namespace {

constexpr std::size_t kMostReleases = 64;  // that one message is answered with

}  // namespace

void BrokerCore::on_agent_hello(const PeerId& from, const Permission& who, wire::HelloT& hello,
                                TimePoint now) {
  if (!hello.board || hello.board->id.empty() || hello.devices.empty() ||
      hello.devices.size() > limits_.devices) {
    return reject(from, who, ErrorCode::Malformed,
                  "an agent's hello names its board and 1 to " + std::to_string(limits_.devices) +
                      " devices");
  }
  for (std::size_t i = 0; i < hello.devices.size(); ++i) {
    auto& device = *hello.devices[i];
    const auto good = [](const std::string& key) {
      return !key.empty() && key.size() <= 64 && !key.ends_with(')');  // that ends a pool's name
    };
    const bool fit = good(device.key) && device.aliases.size() <= 7 &&
                     std::all_of(device.aliases.begin(), device.aliases.end(), good);
    // A board leaves out those that cannot be opened.
    const bool rises = i == 0 || device.index > hello.devices[i - 1]->index;
    if (!fit || !rises || device.index >= limits_.devices) {
      return reject(
          from, who, ErrorCode::Malformed,
          "device " + std::to_string(i) +
              " needs a key of up to 64 characters (no ')' at the end), at most 7 others, and "
              "an index above the one before, below " +
              std::to_string(limits_.devices));
    }
    device.queue_depth = std::clamp<std::uint32_t>(device.queue_depth, 1, limits_.queue_depth);
  }
  if (const auto before = peers_.find(from);
      before != peers_.end() && agents_.at(before->second.agent).instance != hello.instance) {
    drop_agent(before->second.agent, "its connection is another's now",
               now);  // it calls itself another now
  }
  if (!may_serve(from, who, hello)) return;
  // Builders of one key are as many as like to be.
  if (who.role == wire::Role::Agent && !may_be(from, who, hello, now)) return;
  if (!make_room_for_agent(from, who, hello.board->id, hello.instance, now)) return;
  Agent* agent = nullptr;
  for (auto& [id, other] : agents_) {
    if (other.who.public_key != who.public_key) continue;
    if (other.instance == hello.instance) {
      agent = &other;
    } else if (other.board.id == hello.board->id) {
      // Most likely that agent was restarted; it has two heartbeats to prove it lives.
      other.give_up = std::min(other.give_up, now + 2 * times_.heartbeat);
    }
  }
  const bool is_new = agent == nullptr;
  if (is_new) {
    const AgentId id = next_agent_++;
    agent = &agents_[id];
    agent->id = id;
    agent->instance = hello.instance;
    tell(BrokerEventKind::AgentJoined, who).board_id = hello.board->id;
  }
  const bool dialled_anew = agent->peer != from;
  if (dialled_anew) {
    peers_.erase(agent->peer);
    agent->link.drop();
    agent->uploading.clear();  // it says again what it has built
    blobs_.abandon(Uploader::builder(agent->id));
  }
  agent->peer = from;
  agent->who = who;
  agent->last_seen = now;
  agent->give_up = TimePoint::max();
  peers_[from] = {who, agent->id, 0};
  send(from, welcome());

  std::size_t depths = 0;
  for (const auto& device : hello.devices) depths += device->queue_depth;
  // Of a broker before this one, or of devices that it had before, it may hold more.
  agent->most_leases = std::max({agent->most_leases, depths, hello.leases.size()});
  // What a peer that dialled in anew does not list never arrived there: no grace. Further
  // hellos of one connection, that a cut network held back, may be older than a lease.
  std::vector<Lease> ended =
      leases_.missing(agent->id, hello.leases, dialled_anew ? TimePoint::max() : now);
  release_unknown(*agent, hello.leases);
  close_devices(*agent);
  for (const Lease& lease : ended) give_back(lease, now);
  agent->board = *hello.board;
  agent->devices.clear();
  agent->kinds.clear();
  for (auto& device : hello.devices) {
    if (!builds(*agent)) agent->kinds.push_back(kind_of(*device));
    agent->devices.push_back(std::move(*device));
  }
  // Leases of a device that is gone from the list may still end: never shrinks.
  agent->last_done.resize(
      std::max<std::size_t>(agent->last_done.size(), agent->devices.back().index + 1));
  for (Lease& lease : ended) {
    requeue_or_fail(std::move(lease), now, "its agent dialled in without it");
  }
  open_devices(*agent, now);
  if (!builds(*agent)) board_changes_.push_back({who.name, false});
}

// False: it lists more than it can hold, and nothing of it counts.
bool BrokerCore::on_agent_heartbeat(Agent& agent, const std::vector<LeaseId>& listed,
                                    TimePoint now) {
  if (listed.size() > agent.most_leases) {
    ++counters_.malformed;
    reject(agent.peer, agent.who, ErrorCode::Malformed,
           "a heartbeat with " + std::to_string(listed.size()) + " leases: all devices of board " +
               agent.board.id + " together hold " + std::to_string(agent.most_leases));
    return false;
  }
  agent.give_up = TimePoint::max();
  release_unknown(agent, listed);
  for (Lease& lease : leases_.missing(agent.id, listed, now)) {
    give_back(lease, now);
    requeue_or_fail(std::move(lease), now, "its agent no longer holds it");
  }
  return true;
}

// Whether that key may be that board. If so, it is.
bool BrokerCore::may_be(const PeerId& from, const Permission& who, const wire::HelloT& hello,
                        TimePoint now) {
  std::vector<std::string> keys;
  for (const auto& device : hello.devices) {
    keys.push_back(device->key);
    keys.insert(keys.end(), device->aliases.begin(), device->aliases.end());
  }
  const std::string& board = hello.board->id;
  std::vector<Permission> others;
  std::vector<AgentId> pinned;  // of other keys that only said they are it
  for (const auto& [id, agent] : agents_) {
    if (agent.board.id != board || agent.who.public_key == who.public_key) continue;
    others.push_back(agent.who);
    if (agent.who.boards.empty()) pinned.push_back(id);
  }
  if (auto good = claims_.check(who, board, keys, others); !good) {
    ++counters_.unauthorized;
    reject(from, who, ErrorCode::Unauthorized, good.error().message);
    return false;
  }
  const bool is_new_pin = who.boards.empty() && claims_.pins().count(who.public_key) == 0;
  for (std::string& key : claims_.claim(who, board)) note_change(PinGone{std::move(key)});
  if (is_new_pin) note_change(SavedPin{who, board});
  for (AgentId id : pinned) drop_agent(id, "the board is another key's, which names it", now);
  return true;
}

// Agents that are started over and over, or are many by choice, are bounded.
bool BrokerCore::make_room_for_agent(const PeerId& from, const Permission& who,
                                     const std::string& board, std::uint64_t instance,
                                     TimePoint now) {
  std::size_t all = 0, same = 0;
  AgentId longest_silent = 0;
  for (const auto& [id, agent] : agents_) {
    if (agent.who.public_key != who.public_key) continue;
    if (agent.instance == instance) return true;
    ++all;
    if (agent.board.id != board) continue;
    ++same;
    if (longest_silent == 0 || agent.last_seen < agents_.at(longest_silent).last_seen)
      longest_silent = id;
  }
  if (same >= limits_.agents_of_board) {
    drop_agent(longest_silent, "its board was started anew too often", now);
  } else if (all >= limits_.agents) {
    tell(BrokerEventKind::QuotaHit, who, "boards of one key").board_id = board;
    reject(from, who, ErrorCode::TooLarge,
           "the key '" + who.name + "' serves " + std::to_string(all) + " boards already");
    return false;
  }
  return true;
}

void BrokerCore::release_unknown(const Agent& agent, const std::vector<LeaseId>& listed) {
  std::vector<LeaseId> unknown = leases_.unknown(agent.id, listed);
  if (unknown.size() > kMostReleases) unknown.resize(kMostReleases);  // it lists the rest again
  for (LeaseId lease : unknown) {
    wire::ReleaseT release;
    release.lease = lease;
    send(agent.peer, std::move(release));
  }
}

void BrokerCore::open_devices(Agent& agent, TimePoint now) {
  for (const auto& device : agent.devices) open_device(agent, device, now);
}

void BrokerCore::close_devices(Agent& agent) {
  for (const auto& device : agent.devices) scheduler_.remove_device({agent.id, device.index});
}

void BrokerCore::drop_agent(AgentId id, const std::string& why, TimePoint now, bool said_goodbye) {
  auto node = agents_.extract(id);
  Agent& agent = node.mapped();
  tell(BrokerEventKind::AgentLost, agent.who, why).board_id = agent.board.id;
  peers_.erase(agent.peer);
  close_devices(agent);
  blobs_.abandon(Uploader::builder(id));
  for (const auto& device : agent.devices) tell_sessions_of_device(agent, device.index);
  for (Lease& lease : leases_.lost(id)) {
    give_back(lease, now);
    // Where a whole fleet is stopped, a trial would soon be out of attempts.
    if (said_goodbye && lease.trial && lease.trial->spared < kMostSpared) {
      ++lease.trial->spared;
      --lease.trial->attempts;
    }
    requeue_or_fail(
        std::move(lease), now,
        (builds(agent) ? "build worker " : "board ") + agent.board.id + " is gone: " + why);
  }
}

}  // namespace fettle::fleet
