// The ZAP handler (ZeroMQ RFC 27): decides for each CURVE handshake whether the
// peer's public key is on the allow list. Its own thread, in the broker's context.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <zmq.hpp>
namespace fettle::fleet {

// An unknown key gets no answer at all (status 300: the handshake goes no further,
// until the peer gives it up). An accepted peer's user id is its public key.
class ZapHandler {
 public:
  // Both are called from the handler's thread, `refused` for each handshake that is.
  using Allows = std::function<bool(const std::string& public_key)>;
  using Refused = std::function<void(const std::string& public_key, const std::string& address)>;

  // Must exist before any CURVE server socket of `context`, which is kept by reference, is bound.
  ZapHandler(zmq::context_t& context, Allows allows, Refused refused);
  ~ZapHandler();  // ends the thread
  ZapHandler(const ZapHandler&) = delete;
  ZapHandler& operator=(const ZapHandler&) = delete;

 private:
  zmq::socket_t replies_, stop_, stopped_;
  std::thread thread_;
};

}  // namespace fettle::fleet
