// A broker's numbers over HTTP, for people and for Prometheus.
#pragma once

#include <memory>
#include <string>

#include "host/fleet/broker.h"
#include "host/web/web_address.h"

namespace fettle::app {

// GET /metrics (Prometheus' text) and /status (JSON). Nothing can be changed there.
class BrokerMonitor {
 public:
  // `token`: who asks must know it, as ?token=… or as a bearer token; "": nobody has to prove
  // anything. `broker` outlives it. Errors: those of may_listen(); Io: it cannot listen there.
  static Result<std::unique_ptr<BrokerMonitor>> start(const web::WebAddress& address,
                                                      const std::string& token,
                                                      const fleet::Broker& broker);
  ~BrokerMonitor();
  int port() const;  // as it is, where 0 was asked for

 private:
  struct Server;
  BrokerMonitor() = default;
  std::unique_ptr<Server> server_;
};

// InvalidArgument: other machines could ask without a token.
Result<void> may_listen(const web::WebAddress& address, const std::string& token);

// The answer of a broker's monitor to GET `path`. Unreachable; Unauthorized: the token.
Result<std::string> ask_monitor(const web::WebAddress& address, const std::string& token,
                                const std::string& path);

}  // namespace fettle::app
