// Connections, their delays and their ends (network.h).
#include "tests/simulation/network.h"

#include <algorithm>

namespace fettle::fleet::simulation {

struct Network::Connection {
  PeerId id;
  std::weak_ptr<Endpoint> endpoint;
  Permission who;
  bool lost = false;                  // the peer's end
  std::deque<SharedBytes> to_broker;  // on their way, in order
  TimePoint last_to_broker, last_to_peer;
};

PeerId Network::Endpoint::peer() const { return connection_ ? connection_->id : ""; }

milliseconds Network::delay() {
  return random_.chance(95) ? random_.between(1, 20) : random_.between(20, 500);
}

std::shared_ptr<Network::Endpoint> Network::dial(Permission who, ToPeer to_peer) {
  auto endpoint = std::make_shared<Endpoint>();
  endpoint->who_ = std::move(who);
  endpoint->to_peer_ = std::move(to_peer);
  events_.after(delay(), [this, endpoint] { connect(endpoint); });
  return endpoint;
}

void Network::connect(const std::shared_ptr<Endpoint>& endpoint) {
  if (endpoint->closed_ || endpoint->connection_) return;
  if (!up_ || refuses(endpoint->who_.public_key)) {
    events_.after(random_.between(50, 2000), [this, endpoint] { connect(endpoint); });
    return;
  }
  auto connection = std::make_shared<Connection>();
  connection->id = endpoint->who_.name + "#" + std::to_string(next_++);
  connection->endpoint = endpoint;
  connection->who = endpoint->who_;
  ++endpoint->connections_;
  endpoint->connection_ = connection;
  known_[connection->id] = connection;
  for (SharedBytes& bytes : std::exchange(endpoint->waiting_, {})) {
    transmit(connection, std::move(bytes));
  }
}

void Network::send(Endpoint& from, SharedBytes bytes) {
  if (from.closed_) return;
  if (!from.connection_) {
    from.waiting_.push_back(std::move(bytes));
    return;
  }
  transmit(from.connection_, std::move(bytes));
}

void Network::transmit(const std::shared_ptr<Connection>& connection, SharedBytes bytes) {
  const auto endpoint = connection->endpoint.lock();
  TimePoint arrival = std::max(events_.now() + delay(), connection->last_to_broker);
  if (endpoint) arrival = std::max(arrival, endpoint->stalled_until_);
  connection->last_to_broker = arrival;
  connection->to_broker.push_back(std::move(bytes));
  events_.at(arrival, [this, connection] {
    if (connection->to_broker.empty()) return;  // went down with it
    const SharedBytes next = std::move(connection->to_broker.front());
    connection->to_broker.pop_front();
    ++delivered_;
    to_broker_(connection->id, connection->who, next);
  });
}

bool Network::deliver(const PeerId& to, const SharedBytes& bytes) {
  const auto found = known_.find(to);
  if (found == known_.end()) return false;
  const std::shared_ptr<Connection> connection = found->second;
  const auto endpoint = connection->endpoint.lock();
  if (connection->lost || !endpoint) return true;  // into the void
  if (tamper_ && tamper_(to, endpoint->connections_, *bytes)) return true;
  const TimePoint arrival =
      std::max({events_.now() + delay(), connection->last_to_peer, endpoint->stalled_until_});
  connection->last_to_peer = arrival;
  events_.at(arrival, [this, connection, bytes] {
    const auto peer = connection->endpoint.lock();
    if (connection->lost || !peer || peer->closed_) return;
    ++delivered_;
    peer->to_peer_(*bytes);
  });
  return true;
}

void Network::close(Endpoint& endpoint) {
  if (endpoint.closed_) return;
  if (endpoint.connection_) lose(endpoint, milliseconds(0));
  endpoint.closed_ = true;
  endpoint.waiting_.clear();
}

void Network::lose(Endpoint& endpoint, milliseconds away) {
  if (endpoint.closed_ || !endpoint.connection_) return;
  const std::shared_ptr<Connection> connection = std::exchange(endpoint.connection_, nullptr);
  connection->lost = true;
  // The first arrive all the same, those in the middle are lost, the last go again.
  auto& sent = connection->to_broker;
  const std::size_t arrive = random_.below(sent.size() + 1);
  const std::size_t again = random_.below(sent.size() - arrive + 1);
  endpoint.waiting_.insert(endpoint.waiting_.begin(), sent.end() - std::ptrdiff_t(again),
                           sent.end());
  sent.resize(arrive);
  // Often at once, and at worst when TCP gives it up.
  const milliseconds notice = random_.chance(60) ? milliseconds(0) : random_.between(1, 10'000);
  events_.after(notice, [this, id = connection->id] { known_.erase(id); });
  const auto self = connection->endpoint.lock();
  events_.after(away + delay(), [this, self] {
    if (self) connect(self);
  });
}

void Network::stall(Endpoint& endpoint, milliseconds time) {
  endpoint.stalled_until_ = std::max(endpoint.stalled_until_, events_.now() + time);
}

std::uint32_t Network::connections_of(const Endpoint& endpoint) const {
  return endpoint.connections_;
}

void Network::broker_down() {
  up_ = false;
  for (const auto& [id, connection] : std::exchange(known_, {})) {
    const auto endpoint = connection->endpoint.lock();
    connection->to_broker.clear();
    if (connection->lost || !endpoint) continue;
    connection->lost = true;
    endpoint->connection_ = nullptr;
    events_.after(random_.between(50, 500), [this, endpoint] { connect(endpoint); });
  }
}

void Network::refuse(const std::string& public_key, bool refused) {
  if (refused)
    ++refused_[public_key];
  else if (--refused_[public_key] == 0)
    refused_.erase(public_key);
}

}  // namespace fettle::fleet::simulation
