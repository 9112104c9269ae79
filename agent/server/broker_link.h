// The agent's one ZeroMQ socket: a DEALER with CURVE to the broker. libzmq's own
// errors and types stop here.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "agent/server/options.h"
#include "schemas/wire/codec.h"

namespace fettle::agent {

struct KeyPair {
  std::string public_key, secret_key;
};  // Z85

// "public Z85" and "secret Z85" lines, or the secret alone.
Result<KeyPair> parse_key_pair(const std::string& text);
// From options.key_file (which nobody else may read) or options.key_fd.
Result<KeyPair> load_key_pair(const AgentOptions& options);
// Makes a new pair in `path` (mode 0600, its folder must be there) and gives back the
// public half. A pair that is there already is kept: its public half, then. What root
// makes belongs to the owner of its folder.
Result<std::string> make_key_file(const std::string& path);
// options.broker_key: the key itself, or a file with it or a "public Z85" line.
Result<std::string> load_broker_key(const AgentOptions& options);

class BrokerLink {
 public:
  // Connects in the background and again after every loss, for ever.
  static Result<BrokerLink> open(const std::string& url, const std::string& broker_key,
                                 const KeyPair& own);
  BrokerLink(BrokerLink&&) noexcept;
  ~BrokerLink();

  void* socket() const { return socket_; }  // for zmq_poll
  // False: dropped, because too much waits for a broker that does not read.
  bool send(const wire::MessageT& message);
  // The next message, if one is there. Malformed ones come as errors; reading on is fine.
  std::optional<Result<wire::MessageT>> receive();
  // Waits for what was sent to leave, at most this long, and closes.
  void close(int linger_ms);

 private:
  BrokerLink() = default;
  void* context_ = nullptr;
  void* socket_ = nullptr;
};

}  // namespace fettle::agent
