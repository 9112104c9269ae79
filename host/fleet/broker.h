// The broker: BrokerCore behind a CURVE ROUTER socket, in a thread of its own.
// Embedded in `fettle tune`, or alone as `fettle broker`.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/fleet/broker_core.h"
#include "host/fleet/broker_status.h"
#include "host/fleet/fleet_view.h"
#include "host/fleet/keys.h"
#include "host/fleet/open_connections.h"
#include "host/fleet/power_cycle.h"

namespace fettle::fleet {

struct BrokerOptions {
  std::string listen = "tcp://127.0.0.1:*";
  KeyPair keys;
  std::vector<Permission> allowed;   // the list, unless allow_file is set
  std::filesystem::path allow_file;  // read at start and again whenever it changes
  BrokerTimes times;
  BrokerLimits limits;
  ConnectionLimits connections;  // fewer where this process may open few files
  PowerCycleOptions power_cycle;
  bool leave_out_drifting = false;  // boards that drift from their siblings (drift.h)
  // Where it keeps what must outlive it (state_file.h); empty: nowhere.
  std::filesystem::path state_folder;
  // One line for people: unknown keys, allow list reloaded. From threads of the broker.
  std::function<void(const std::string&)> log;
  // What was decided about peers, for an audit log. From threads of the broker.
  std::function<void(const BrokerEvent&)> audit;
  FleetWatcher* watcher = nullptr;  // outlives the broker; null: nobody watches
};

class Broker {
 public:
  static Result<std::unique_ptr<Broker>> start(BrokerOptions options);
  ~Broker();  // stop()
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  // Ends the thread; peers find out by silence, and dial the next broker by themselves.
  void stop();
  // Where it listens, with the actual port: tcp://127.0.0.1:40213.
  const std::string& endpoint() const { return endpoint_; }
  const std::string& public_key() const { return public_key_; }
  const BrokerCounters& counters() const;
  BrokerStatus status() const;  // as of a moment ago; from any thread

 private:
  struct Loop;
  Broker() = default;
  std::unique_ptr<Loop> loop_;
  std::string endpoint_, public_key_;
};

}  // namespace fettle::fleet
