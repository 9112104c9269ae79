// The ZAP handler (ZeroMQ RFC 27): decides for each CURVE handshake whether the
// peer's public key is on the allow list. Its own thread, in the broker's context.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <zmq.hpp>

#include "host/fleet/allow_list.h"

namespace fettle::fleet {

// An unknown key gets no answer at all (status 300: the connection is closed
// without an ERROR command). An accepted peer's user id is its public key.
class ZapHandler {
 public:
  // Called from the handler's thread for each handshake that is refused.
  using Refused = std::function<void(const std::string& public_key, const std::string& address)>;

  // Must exist before any CURVE server socket of `context` is bound; both are kept by reference.
  ZapHandler(zmq::context_t& context, const AllowList& allowed, Refused refused);
  ~ZapHandler();  // ends the thread
  ZapHandler(const ZapHandler&) = delete;
  ZapHandler& operator=(const ZapHandler&) = delete;

 private:
  zmq::socket_t replies_, stop_, stopped_;
  std::thread thread_;
};

}  // namespace fettle::fleet
