// The only place where CURVE sockets are made: every link of fettle gets the same
// security, limits and liveness options here.
#pragma once

#include <string>
#include <zmq.hpp>

#include "host/fleet/keys.h"
#include "schemas/wire/limits.h"

namespace fettle::fleet {

// InvalidArgument unless it is tcp://host:port (or ipc://, inproc:// for tests).
Result<void> check_url(const std::string& url);

// A bound ROUTER with ROUTER_MANDATORY. `url` may end in ":*"; endpoint_of tells the port.
Result<zmq::socket_t> make_server(zmq::context_t& context, const std::string& url,
                                  const KeyPair& keys);
// A connecting DEALER; the connection itself is made, and made again, in the background.
// most_bytes: of one message that it takes.
Result<zmq::socket_t> make_client(zmq::context_t& context, const std::string& url,
                                  const KeyPair& keys, const std::string& server_public_key,
                                  std::size_t most_bytes = limits::kSocketBytes);

}  // namespace fettle::fleet
