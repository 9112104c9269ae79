// The broker's peers: hello, heartbeats, silence, and the way of each message.
#include "host/fleet/broker_core.h"

#include <algorithm>
#include <utility>

#include "host/fleet/fleet_view.h"
#include "host/fleet/pool.h"
#include "schemas/wire/limits.h"

namespace fettle::fleet {
namespace {

constexpr std::size_t kMostEvents = 4096;  // between two calls of take_events

}  // namespace

BrokerCore::BrokerCore(std::uint64_t instance, BrokerTimes times, BrokerLimits limits)
    : instance_(instance),
      times_(times),
      limits_(limits),
      next_session_(random_id() | 1),
      blobs_(limits.blob_bytes, times.unused),
      build_cache_(limits.build_cache_bytes),
      leases_(random_id()) {}

BrokerCore::~BrokerCore() = default;

void BrokerCore::send(const PeerId& to, SharedBytes bytes) {
  if (!to.empty()) outgoing_.push_back({to, std::move(bytes)});
}

// The event is the list's, or one that nobody reads: to be filled in before the next call.
BrokerEvent& BrokerCore::tell(BrokerEventKind kind, const Permission& who, std::string text) {
  BrokerEvent event;
  event.kind = kind;
  event.name = who.name;
  event.public_key = who.public_key;
  event.text = std::move(text);
  if (events_.size() >= kMostEvents) {
    ++counters_.events_dropped;
    return dropped_event_ = std::move(event);
  }
  return events_.emplace_back(std::move(event));
}

void BrokerCore::reject(const PeerId& to, const Permission& who, ErrorCode code,
                        std::string message) {
  ++counters_.rejected;
  tell(BrokerEventKind::PeerRejected, who, message);
  wire::RejectT body;
  body.error = std::make_unique<wire::ErrorT>(to_wire(clipped({code, std::move(message), {}})));
  send(to, std::move(body));
}

void BrokerCore::receive(const PeerId& from, const Permission& who, ByteView bytes, TimePoint now) {
  auto decoded = decode_message(bytes);
  if (!decoded) {
    ++counters_.malformed;
    return reject(from, who, decoded.error().code, decoded.error().message);
  }
  auto& body = decoded->body;
  if (auto* hello = body.AsHello()) return on_hello(from, who, *hello, bytes.size(), now);

  const auto known = peers_.find(from);
  if (known == peers_.end() || known->second.who.public_key != who.public_key) {
    return send(from, wire::HelloNeededT{});
  }
  if (body.AsGoodbye()) return drop_peer(known->second, "it ended", now, true);
  if (known->second.agent != 0) {
    Agent& agent = agents_.at(known->second.agent);
    agent.last_seen = now;
    if (auto* done = body.AsDone()) {
      return builds(agent) ? on_built(agent, *done, now) : on_done(agent, *done, now);
    }
    if (auto* wanted = body.AsBlobsWanted(); wanted && !builds(agent))
      return on_blobs_wanted(agent, wanted->hashes, now);
    if (auto* blob = body.AsPutBlob(); blob && builds(agent))
      return on_built_blob(agent, *blob, bytes, now);
    if (auto* beat = body.AsHeartbeat()) {
      if (!on_agent_heartbeat(agent, beat->leases, now)) return;
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
    if (body.AsListDevices()) return send(from, device_list(now, who.public_key));
    if (auto* reserve = body.AsReserveBoard()) return on_reserve(client, *reserve, now);
    if (auto* release = body.AsReleaseBoard()) return on_release_board(client, *release, now);
    if (body.AsHeartbeat()) {
      wire::HeartbeatT echo;
      echo.instance = instance_;
      return send(from, std::move(echo));
    }
  }
  ++counters_.unauthorized;
  reject(from, who, ErrorCode::Unauthorized,
         std::string("the key '") + who.name + "' has the role " + role_name(who.role) +
             ", which may not send this kind of message");
}

void BrokerCore::on_hello(const PeerId& from, const Permission& who, wire::HelloT& hello,
                          std::size_t message_bytes, TimePoint now) {
  if (hello.protocol_version != limits::kProtocolVersion) {
    return reject(from, who, ErrorCode::VersionMismatch,
                  "the broker speaks protocol " + std::to_string(limits::kProtocolVersion) +
                      ", this peer " + std::to_string(hello.protocol_version) + " (software '" +
                      hello.software_version + "'): install the same version on both sides");
  }
  if (hello.role != who.role) {
    ++counters_.unauthorized;
    return reject(from, who, ErrorCode::Unauthorized,
                  "the key '" + who.name + "' is allowed as " + role_name(who.role) + ", not as " +
                      role_name(hello.role) + ": change that with `fettle keys allow " + who.name +
                      " '" + who.public_key + "' --role " + role_name(hello.role) + "`");
  }
  if (message_bytes > limits::kHelloBytes) {
    return reject(from, who, ErrorCode::Malformed,
                  "a hello of " + std::to_string(message_bytes) + " bytes, at most " +
                      std::to_string(limits::kHelloBytes));
  }
  if (hello.instance == 0)
    return reject(from, who, ErrorCode::Malformed, "hello without an instance");
  // A peer chooses its connection's name: one that another key used before is another peer's.
  if (const auto before = peers_.find(from);
      before != peers_.end() &&
      (before->second.who.public_key != who.public_key || before->second.who.role != who.role)) {
    unreachable(from, now);
  }
  switch (hello.role) {
    case wire::Role::Agent:
    case wire::Role::BuildWorker:
      on_agent_hello(from, who, hello, now);
      break;
    case wire::Role::Client:
      on_client_hello(from, who, hello, now);
      break;
  }
}

wire::WelcomeT BrokerCore::welcome() const {
  wire::WelcomeT welcome;
  welcome.protocol_version = limits::kProtocolVersion;
  welcome.broker_instance = instance_;
  welcome.heartbeat_ms = static_cast<std::uint32_t>(times_.heartbeat.count());
  welcome.silence_ms = static_cast<std::uint32_t>(times_.silence.count());
  return welcome;
}

void BrokerCore::on_client_hello(const PeerId& from, const Permission& who,
                                 const wire::HelloT& hello, TimePoint now) {
  const auto found = clients_.find(hello.instance);
  if (found != clients_.end() && found->second.who.public_key != who.public_key) {
    ++counters_.unauthorized;
    return reject(from, who, ErrorCode::Unauthorized,
                  "this client instance belongs to another key");
  }
  if (const auto before = peers_.find(from);
      before != peers_.end() && before->second.client != hello.instance) {
    drop_client(before->second.client, "its connection is another's now",
                now);  // it calls itself another now
  }
  if (clients_.count(hello.instance) == 0) {
    if (!make_room_for_client(from, who, now)) return;
    ++accounts_[who.public_key].clients;
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
  send(from, welcome());
}

void BrokerCore::drop_client(ClientId id, const std::string& why, TimePoint now) {
  Client& client = clients_.at(id);
  tell(BrokerEventKind::ClientLost, client.who, why);
  while (!client.sessions.empty()) on_close_session(client, client.sessions.begin()->first, now);
  blobs_.abandon(Uploader::of_client(id));
  const auto account = accounts_.find(client.who.public_key);
  if (--account->second.clients == 0) accounts_.erase(account);
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
  std::vector<std::string> pinned;
  for (const auto& [key, pin] : claims_.pins())
    if (!allowed(pin.who)) pinned.push_back(key);
  for (const std::string& key : pinned) {
    claims_.forget(key);
    note_change(PinGone{key});
  }
  for (const Reservation& gone : reservations_.take_unless(allowed)) {
    end_reservation(gone, "its key is not allowed as it was", now);
  }
  for (AgentId id : agents) drop_agent(id, "its key is not allowed as it was", now);
  for (ClientId id : clients) drop_client(id, "its key is not allowed as it was", now);
}

void BrokerCore::refused(const PeerId& peer, TimePoint now) {
  if (const auto found = peers_.find(peer); found != peers_.end())
    drop_peer(found->second, "its key is not allowed", now);
}

// By value: it goes with its entry in peers_.
void BrokerCore::drop_peer(Peer peer, const std::string& why, TimePoint now, bool said_goodbye) {
  if (peer.agent != 0)
    drop_agent(peer.agent, why, now, said_goodbye);
  else
    drop_client(peer.client, why, now);
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
    const bool replaced = agents_.at(id).give_up <= now, board = !builds(agents_.at(id));
    drop_agent(id, replaced ? "it was started anew" : "it went silent", now);
    // One that was started anew lives on under another id.
    const bool lives = std::any_of(agents_.begin(), agents_.end(), [&](const auto& entry) {
      return entry.second.who.public_key == who.public_key;
    });
    if (!lives && !replaced && board) board_changes_.push_back({who.name, true});
  }
  for (ClientId id : clients) drop_client(id, "it went silent", now);
  if (now - last_board_check_ >= times_.heartbeat) {
    last_board_check_ = now;
    end_overdue_leases(now);
    end_reservations(now);
    forget_old_drift(now);
    fail_without_blobs(now);
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

}  // namespace fettle::fleet
