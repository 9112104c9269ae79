// The broker's peers: hello, heartbeats, silence, and the way of each message.
#include "host/fleet/broker_core.h"

#include <algorithm>
#include <utility>

#include "host/fleet/pool.h"
#include "schemas/wire/limits.h"

namespace fettle::fleet {

BrokerCore::BrokerCore(std::uint64_t instance, BrokerTimes times, BrokerLimits limits)
    : instance_(instance),
      times_(times),
      limits_(limits),
      next_session_(random_id() | 1),
      blobs_(limits.blob_bytes),
      leases_(random_id()) {}

void BrokerCore::send(const PeerId& to, SharedBytes bytes) {
  if (!to.empty()) outgoing_.push_back({to, std::move(bytes)});
}

void BrokerCore::reject(const PeerId& to, ErrorCode code, std::string message) {
  wire::RejectT body;
  body.error = std::make_unique<wire::ErrorT>(to_wire({code, std::move(message), {}}));
  send(to, std::move(body));
}

void BrokerCore::receive(const PeerId& from, const Permission& who, ByteView bytes, TimePoint now) {
  auto decoded = decode_message(bytes);
  if (!decoded) {
    ++counters_.malformed;
    return reject(from, decoded.error().code, decoded.error().message);
  }
  auto& body = decoded->body;
  if (auto* hello = body.AsHello()) return on_hello(from, who, *hello, now);

  const auto known = peers_.find(from);
  if (known == peers_.end() || known->second.who.public_key != who.public_key) {
    return send(from, wire::HelloNeededT{});
  }
  if (known->second.agent != 0) {
    Agent& agent = agents_.at(known->second.agent);
    agent.last_seen = now;
    if (auto* done = body.AsDone()) return on_done(agent, *done, now);
    if (auto* wanted = body.AsBlobsWanted()) return on_blobs_wanted(agent, wanted->hashes, now);
    if (auto* beat = body.AsHeartbeat()) {
      on_agent_heartbeat(agent, beat->leases, now);
      wire::HeartbeatT echo;
      echo.instance = instance_;
      return send(from, std::move(echo));
    }
  } else {
    Client& client = clients_.at(known->second.client);
    client.last_seen = now;
    if (auto* submit = body.AsSubmit()) return on_submit(client, *submit, now);
    if (auto* blob = body.AsPutBlob()) return on_put_blob(client, *blob, bytes, now);
    if (auto* open = body.AsOpenSession()) return on_open_session(client, *open, now);
    if (auto* close = body.AsCloseSession()) return on_close_session(client, close->session, now);
    if (auto* cancel = body.AsCancel()) return on_cancel(client, *cancel, now);
    if (body.AsListDevices()) return send(from, device_list());
    if (body.AsHeartbeat()) {
      wire::HeartbeatT echo;
      echo.instance = instance_;
      return send(from, std::move(echo));
    }
  }
  ++counters_.unauthorized;
  reject(from, ErrorCode::Unauthorized,
         std::string("the key '") + who.name + "' has the role " + role_name(who.role) +
             ", which may not send this kind of message");
}

void BrokerCore::on_hello(const PeerId& from, const Permission& who, wire::HelloT& hello,
                          TimePoint now) {
  if (hello.protocol_version != limits::kProtocolVersion) {
    return reject(from, ErrorCode::VersionMismatch,
                  "the broker speaks protocol " + std::to_string(limits::kProtocolVersion) +
                      ", this peer " + std::to_string(hello.protocol_version) + " (software '" +
                      hello.software_version + "'): install the same version on both sides");
  }
  if (hello.role != who.role) {
    ++counters_.unauthorized;
    return reject(from, ErrorCode::Unauthorized,
                  "the key '" + who.name + "' is allowed as " + role_name(who.role) + ", not as " +
                      role_name(hello.role) + ": change that with `fettle keys allow " + who.name +
                      " '" + who.public_key + "' --role " + role_name(hello.role) + "`");
  }
  if (hello.instance == 0) return reject(from, ErrorCode::Malformed, "hello without an instance");
  // A peer chooses its connection's name: one that another key used before is another peer's.
  if (const auto before = peers_.find(from);
      before != peers_.end() &&
      (before->second.who.public_key != who.public_key || before->second.who.role != who.role)) {
    unreachable(from, now);
  }
  switch (hello.role) {
    case wire::Role::Agent:
      on_agent_hello(from, who, hello, now);
      break;
    case wire::Role::Client:
      on_client_hello(from, who, hello, now);
      break;
    default:
      reject(from, ErrorCode::Unsupported, "this broker takes no build workers");
  }
}

namespace {
wire::WelcomeT make_welcome(std::uint64_t instance, const BrokerTimes& times) {
  wire::WelcomeT welcome;
  welcome.protocol_version = limits::kProtocolVersion;
  welcome.broker_instance = instance;
  welcome.heartbeat_ms = static_cast<std::uint32_t>(times.heartbeat.count());
  welcome.silence_ms = static_cast<std::uint32_t>(times.silence.count());
  return welcome;
}
}  // namespace

void BrokerCore::on_client_hello(const PeerId& from, const Permission& who,
                                 const wire::HelloT& hello, TimePoint now) {
  const auto found = clients_.find(hello.instance);
  if (found != clients_.end() && found->second.who.public_key != who.public_key) {
    ++counters_.unauthorized;
    return reject(from, ErrorCode::Unauthorized, "this client instance belongs to another key");
  }
  if (const auto before = peers_.find(from);
      before != peers_.end() && before->second.client != hello.instance) {
    drop_client(before->second.client, now);  // it calls itself another now
  }
  Client& client = clients_[hello.instance];
  if (client.peer != from) {
    peers_.erase(client.peer);
    client.asked.clear();
  }
  client.id = hello.instance;
  client.peer = from;
  client.who = who;
  client.last_seen = now;
  peers_[from] = {who, 0, client.id};
  send(from, make_welcome(instance_, times_));
}

void BrokerCore::on_agent_hello(const PeerId& from, const Permission& who, wire::HelloT& hello,
                                TimePoint now) {
  if (!hello.board || hello.board->id.empty() || hello.devices.empty() ||
      hello.devices.size() > limits_.devices) {
    return reject(from, ErrorCode::Malformed,
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
          from, ErrorCode::Malformed,
          "device " + std::to_string(i) +
              " needs a key of up to 64 characters (no ')' at the end), at most 7 others, and "
              "an index above the one before, below " +
              std::to_string(limits_.devices));
    }
    device.queue_depth = std::clamp<std::uint32_t>(device.queue_depth, 1, limits_.queue_depth);
  }
  if (const auto before = peers_.find(from);
      before != peers_.end() && agents_.at(before->second.agent).instance != hello.instance) {
    drop_agent(before->second.agent, now);  // it calls itself another now
  }
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
  }
  const bool dialled_anew = agent->peer != from;
  if (dialled_anew) {
    peers_.erase(agent->peer);
    agent->link.drop();
  }
  agent->peer = from;
  agent->who = who;
  agent->last_seen = now;
  agent->give_up = TimePoint::max();
  peers_[from] = {who, agent->id, 0};
  send(from, make_welcome(instance_, times_));

  // What a peer that dialled in anew does not list never arrived there: no grace. Further
  // hellos of one connection, that a cut network held back, may be older than a lease.
  std::vector<Lease> ended =
      leases_.missing(agent->id, hello.leases, dialled_anew ? TimePoint::max() : now);
  release_unknown(*agent, hello.leases);
  close_devices(*agent);
  for (const Lease& lease : ended) give_back(lease, now);
  agent->board = *hello.board;
  agent->devices.clear();
  for (auto& device : hello.devices) agent->devices.push_back(std::move(*device));
  // Leases of a device that is gone from the list may still end: never shrinks.
  agent->last_done.resize(
      std::max<std::size_t>(agent->last_done.size(), agent->devices.back().index + 1));
  for (Lease& lease : ended) {
    requeue_or_fail(std::move(lease), now, "its agent dialled in without it");
  }
  open_devices(*agent, now);
  board_changes_.push_back({who.name, false});
}

void BrokerCore::on_agent_heartbeat(Agent& agent, const std::vector<LeaseId>& listed,
                                    TimePoint now) {
  agent.give_up = TimePoint::max();
  release_unknown(agent, listed);
  for (Lease& lease : leases_.missing(agent.id, listed, now)) {
    give_back(lease, now);
    requeue_or_fail(std::move(lease), now, "its agent no longer holds it");
  }
}

void BrokerCore::release_unknown(const Agent& agent, const std::vector<LeaseId>& listed) {
  for (LeaseId lease : leases_.unknown(agent.id, listed)) {
    wire::ReleaseT release;
    release.lease = lease;
    send(agent.peer, std::move(release));
  }
}

bool works_in(const wire::DeviceInfoT& device, const std::string& pool) {
  const std::vector<std::string> pools = pools_of(device);
  return std::find(pools.begin(), pools.end(), pool) != pools.end();
}

void BrokerCore::open_devices(Agent& agent, TimePoint now) {
  std::set<std::string> keys;
  for (const auto& device : agent.devices) {
    const DeviceId id{agent.id, device.index};
    std::vector<std::string> own = pools_of(device);
    keys.insert(own.begin(), own.end());
    auto placed = scheduler_.add_device(id, std::move(own), agent.board.id, device.queue_depth,
                                        leases_.count(id));
    for (Placement& placement : placed) assign(std::move(placement), now);
  }
  for (const std::string& key : keys) tell_sessions_of(key);
}

void BrokerCore::close_devices(Agent& agent) {
  for (const auto& device : agent.devices) scheduler_.remove_device({agent.id, device.index});
}

void BrokerCore::drop_agent(AgentId id, TimePoint now) {
  auto node = agents_.extract(id);
  Agent& agent = node.mapped();
  peers_.erase(agent.peer);
  close_devices(agent);
  std::set<std::string> keys;
  for (const auto& device : agent.devices) {
    for (std::string& key : pools_of(device)) keys.insert(std::move(key));
  }
  for (Lease& lease : leases_.lost(id)) {
    give_back(lease, now);
    requeue_or_fail(std::move(lease), now, "board " + agent.board.id + " went silent");
  }
  for (const std::string& key : keys) tell_sessions_of(key);
}

void BrokerCore::drop_client(ClientId id, TimePoint now) {
  Client& client = clients_.at(id);
  while (!client.sessions.empty()) on_close_session(client, client.sessions.begin()->first, now);
  peers_.erase(client.peer);
  clients_.erase(id);
}

void BrokerCore::unreachable(const PeerId& peer, TimePoint) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  // Its leases and sessions stay: the peer may dial in again before it is given up.
  if (found->second.agent != 0) {
    Agent& agent = agents_.at(found->second.agent);
    agent.peer.clear();
    close_devices(agent);
  } else {
    clients_.at(found->second.client).peer.clear();
  }
  peers_.erase(found);
}

void BrokerCore::recheck(const std::function<bool(const Permission&)>& allowed, TimePoint now) {
  std::vector<AgentId> agents;
  std::vector<ClientId> clients;
  for (const auto& [id, agent] : agents_)
    if (!allowed(agent.who)) agents.push_back(id);
  for (const auto& [id, client] : clients_)
    if (!allowed(client.who)) clients.push_back(id);
  for (AgentId id : agents) drop_agent(id, now);
  for (ClientId id : clients) drop_client(id, now);
}

void BrokerCore::refused(const PeerId& peer, TimePoint now) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  const Peer known = found->second;
  if (known.agent != 0)
    drop_agent(known.agent, now);
  else
    drop_client(known.client, now);
}

void BrokerCore::tick(TimePoint now) {
  std::vector<AgentId> agents;
  std::vector<ClientId> clients;
  for (const auto& [id, agent] : agents_) {
    if (now - agent.last_seen >= times_.silence || now >= agent.give_up) agents.push_back(id);
  }
  for (const auto& [id, client] : clients_) {
    const auto limit = uploads(client) ? std::max(times_.upload, times_.silence) : times_.silence;
    if (now - client.last_seen >= limit) clients.push_back(id);
  }
  for (AgentId id : agents) {
    const Permission who = agents_.at(id).who;
    drop_agent(id, now);
    // One that was started anew lives on under another id.
    const bool lives = std::any_of(agents_.begin(), agents_.end(), [&](const auto& entry) {
      return entry.second.who.public_key == who.public_key;
    });
    if (!lives) board_changes_.push_back({who.name, true});
  }
  for (ClientId id : clients) drop_client(id, now);
  if (now - last_board_check_ >= times_.heartbeat) {
    last_board_check_ = now;
    fail_without_boards(now);
  }
}

void BrokerCore::stood_still(milliseconds time) {
  for (auto& [id, agent] : agents_) {
    agent.last_seen += time;
    if (agent.give_up != TimePoint::max()) agent.give_up += time;
  }
  for (auto& [id, client] : clients_) client.last_seen += time;
  for (auto& [what, since] : without_board_since_) since += time;
  leases_.stood_still(time);
}

wire::DeviceListT BrokerCore::device_list() const {
  wire::DeviceListT list;
  for (const auto& [key, status] : scheduler_.status()) {
    auto entry = std::make_unique<wire::DeviceStatusT>();
    entry->key = key;
    entry->total = status.total;
    entry->free = status.free;
    entry->pending = status.pending;
    for (const auto& [id, agent] : agents_) {
      if (agent.peer.empty()) continue;
      for (const auto& device : agent.devices) {
        if (!works_in(device, key)) continue;
        entry->boards.push_back(std::make_unique<wire::BoardT>(agent.board));
        entry->devices.push_back(std::make_unique<wire::DeviceInfoT>(device));
      }
    }
    list.keys.push_back(std::move(entry));
  }
  return list;
}

}  // namespace fettle::fleet
