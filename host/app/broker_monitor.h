// A broker's numbers over HTTP, for people and for Prometheus.
#pragma once

#include <memory>
#include <string>

#include "host/fleet/broker.h"

namespace fettle::app {

// "9191" is 127.0.0.1:9191; "ADDRESS:PORT" listens where it says. InvalidArgument.
struct MonitorAddress {
  std::string host = "127.0.0.1";
  int port = 0;
};
Result<MonitorAddress> monitor_address(const std::string& text);

// GET /metrics (Prometheus' text) and /status (JSON). Nothing can be changed there, and nobody
// has to prove anything: it is for this machine, unless its address says otherwise.
class BrokerMonitor {
 public:
  // `broker` outlives it. Io: it cannot listen there.
  static Result<std::unique_ptr<BrokerMonitor>> start(const MonitorAddress& address,
                                                      const fleet::Broker& broker);
  ~BrokerMonitor();
  int port() const;  // as it is, where 0 was asked for

 private:
  struct Server;
  BrokerMonitor() = default;
  std::unique_ptr<Server> server_;
};

// The answer of a broker's monitor to GET `path`. Unreachable.
Result<std::string> ask_monitor(const MonitorAddress& address, const std::string& path);

}  // namespace fettle::app
