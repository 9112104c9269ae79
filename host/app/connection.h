// Connection: a Runner on the boards of one key. Where no broker is named, a broker
// and an agent of this machine are started for it and end with it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/fleet/broker.h"
#include "host/fleet/local_agent.h"
#include "host/fleet/remote_builder.h"
#include "host/fleet/session.h"

namespace fettle::app {

struct ConnectionOptions {
  std::string broker;      // URL; empty: embedded broker and agent
  std::string broker_key;  // its public key; empty: that of this account's own broker
  std::string device_key;
  std::string name;                        // for people
  int local_threads = 0;                   // cores of the embedded device; 0: all but one
  const tune::StopSignal* stop = nullptr;  // ends the waiting; null: nothing does
  int priority = 0;                        // of the session: higher goes first
  // A broker that is away is waited for so long; null: as long as sessions usually do.
  std::optional<std::chrono::milliseconds> away_at_most = {};
};

class Connection {
 public:
  // NotFound (no such device key), Unreachable, Unauthorized, InvalidArgument, Canceled.
  static Result<Connection> open(const ConnectionOptions& options);
  // As the session's, but a local agent that is gone for good is an Error at once.
  tune::Runner& runner() { return *runner_; }
  // Cores that builders and this process should keep to: those that the local
  // device does not use. Empty: the boards are elsewhere, or no core is free.
  const std::vector<int>& free_cores() const { return free_cores_; }
  const fleet::BrokerAddress& address() const { return address_; }
  // The broker's build workers that build as this very program does, for as long as this
  // connection is there. NotFound: the broker is older than build workers.
  Result<std::unique_ptr<fleet::RemoteBuilder>> remote_builder(const std::string& name,
                                                               const tune::StopSignal* stop);

 private:
  Result<void> start_local(const ConnectionOptions& options);

  // Ended last to first.
  fleet::BrokerAddress address_;
  std::unique_ptr<fleet::Broker> broker_;
  std::unique_ptr<fleet::LocalAgent> agent_;
  std::unique_ptr<tune::Runner> runner_;
  fleet::Session* session_ = nullptr;  // the runner's
  std::vector<int> free_cores_;
  int priority_ = 0;
};

// Where a broker is and with which keys it is spoken to: this account's key pair `own`, made if
// there is none.
Result<fleet::BrokerAddress> broker_address(const std::string& url, const std::string& public_key,
                                            const std::string& own = "client");

}  // namespace fettle::app
