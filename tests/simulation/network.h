// The simulated network between peers and the broker: what a DEALER and a ROUTER socket do.
// Each connection keeps the order of its messages; connections overtake one another. One that
// is lost takes with it what it likes: of what a peer sent, the first may still arrive, late and
// under the lost connection's name, and the last goes again over the next one.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "host/fleet/allow_list.h"
#include "tests/simulation/events.h"
#include "tests/simulation/sim_random.h"

namespace fettle::fleet::simulation {

class Network {
 public:
  using ToBroker = std::function<void(const PeerId&, const Permission&, const SharedBytes&)>;
  using ToPeer = std::function<void(ByteView)>;
  // True: that message to a peer is swallowed. For tests of the simulation itself.
  using Tamper = std::function<bool(const PeerId&, std::uint32_t connections, ByteView)>;

  Network(Events& events, Random random) : events_(events), random_(random) {}
  void set_broker(ToBroker to_broker) { to_broker_ = std::move(to_broker); }
  void set_tamper(Tamper tamper) { tamper_ = std::move(tamper); }

  // A peer's socket, dialling from now on.
  class Endpoint;
  std::shared_ptr<Endpoint> dial(Permission who, ToPeer to_peer);
  void send(Endpoint& from, SharedBytes bytes);
  // The process ended: its connection is gone, and the broker notices sometime.
  void close(Endpoint& endpoint);
  // The connection is lost; it is dialled again after `away`.
  void lose(Endpoint& endpoint, milliseconds away);
  void stall(Endpoint& endpoint, milliseconds time);
  // A second way to the broker, while the first one is not known to be gone.
  std::uint32_t connections_of(const Endpoint& endpoint) const;

  // The broker's side. False: there is no such connection, as far as the broker knows.
  bool deliver(const PeerId& to, const SharedBytes& bytes);
  void broker_down();  // all connections are gone, none can be made
  void broker_up() { up_ = true; }
  void refuse(const std::string& public_key, bool refused);  // by the allow list
  bool refuses(const std::string& public_key) const { return refused_.count(public_key) != 0; }

  std::uint64_t delivered() const { return delivered_; }

 private:
  struct Connection;
  void connect(const std::shared_ptr<Endpoint>& endpoint);
  void transmit(const std::shared_ptr<Connection>& connection, SharedBytes bytes);
  milliseconds delay();

  Events& events_;
  Random random_;
  ToBroker to_broker_;
  Tamper tamper_;
  bool up_ = true;
  std::uint64_t next_ = 1, delivered_ = 0;
  std::map<PeerId, std::shared_ptr<Connection>> known_;  // to the broker
  std::map<std::string, int> refused_;
};

class Network::Endpoint {
 public:
  const Permission& who() const { return who_; }
  PeerId peer() const;  // of its connection; "" without one
 private:
  friend class Network;
  Permission who_;
  ToPeer to_peer_;
  bool closed_ = false;
  std::uint32_t connections_ = 0;  // so far
  std::shared_ptr<Connection> connection_;
  std::deque<SharedBytes> waiting_;  // for a connection
  TimePoint stalled_until_;
};

}  // namespace fettle::fleet::simulation
