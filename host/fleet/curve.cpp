// CURVE socket options (curve.h).
#include "host/fleet/curve.h"

namespace fettle::fleet {
namespace {

// A dead link is noticed even when no message is due: ZMTP's pings are sent, and TCP gives the
// connection up when no byte was acknowledged for 10 s. Bytes count, not messages (ZMTP's own
// timeout): a large blob takes longer than that on a slow link.
void set_shared_options(zmq::socket_t& socket, const KeyPair& keys) {
  socket.set(zmq::sockopt::curve_publickey, keys.public_key);
  socket.set(zmq::sockopt::curve_secretkey, keys.secret_key);
  socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(limits::kSocketBytes));
  socket.set(zmq::sockopt::heartbeat_ivl, 2000);
  socket.set(zmq::sockopt::heartbeat_timeout, 0);
  socket.set(zmq::sockopt::tcp_maxrt, 10'000);
  socket.set(zmq::sockopt::ipv6, true);
  socket.set(zmq::sockopt::linger, 0);
}

Error bad_url(const std::string& url) {
  return {ErrorCode::InvalidArgument,
          "'" + url +
              "' is no broker address: write tcp://HOST:PORT, for example "
              "tcp://192.168.1.10:5555"};
}

}  // namespace

Result<void> check_url(const std::string& url) {
  if (url.rfind("ipc://", 0) == 0 || url.rfind("inproc://", 0) == 0) return {};
  const auto colon = url.rfind(':');
  if (url.rfind("tcp://", 0) != 0 || colon < 7 || colon + 1 >= url.size()) return bad_url(url);
  const std::string port = url.substr(colon + 1);
  if (port == "*") return {};
  if (port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos ||
      std::stoi(port) > 65'535) {
    return bad_url(url);
  }
  return {};
}

Result<zmq::socket_t> make_server(zmq::context_t& context, const std::string& url,
                                  const KeyPair& keys) {
  if (auto good = check_url(url); !good) return std::move(good).error();
  try {
    zmq::socket_t socket(context, zmq::socket_type::router);
    set_shared_options(socket, keys);
    socket.set(zmq::sockopt::curve_server, true);
    socket.set(zmq::sockopt::zap_domain, "fettle");
    socket.set(zmq::sockopt::router_mandatory, true);
    // Flow is bounded by credits and in-flight limits; a full pipe is told by
    // EAGAIN and kept in the broker's own queue, so nothing is dropped silently.
    socket.set(zmq::sockopt::sndhwm, 1000);
    socket.set(zmq::sockopt::rcvhwm, 10'000);
    socket.set(zmq::sockopt::backlog, 1024);
    // A stranger's connection is over by then, however slowly it talks.
    socket.set(zmq::sockopt::handshake_ivl, 5000);
    socket.bind(url);
    return socket;
  } catch (const zmq::error_t& error) {
    return Error{ErrorCode::Io,
                 "cannot listen at " + url + ": " + error.what() +
                     (error.num() == EADDRINUSE ? " (is another broker running?)" : "")};
  }
}

Result<zmq::socket_t> make_client(zmq::context_t& context, const std::string& url,
                                  const KeyPair& keys, const std::string& server_public_key,
                                  std::size_t most_bytes) {
  if (auto good = check_url(url); !good) return std::move(good).error();
  if (auto good = check_public_key(server_public_key); !good) {
    return std::move(good).error().in("reading the broker's public key");
  }
  try {
    zmq::socket_t socket(context, zmq::socket_type::dealer);
    set_shared_options(socket, keys);
    socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(most_bytes));
    socket.set(zmq::sockopt::curve_serverkey, server_public_key);
    socket.set(zmq::sockopt::sndhwm, 10'000);
    socket.set(zmq::sockopt::rcvhwm, 10'000);
    // A broker that does not know the key yet says nothing: dial again, it may by then.
    socket.set(zmq::sockopt::handshake_ivl, 3000);
    socket.set(zmq::sockopt::reconnect_ivl, 50);
    socket.set(zmq::sockopt::reconnect_ivl_max, 2000);
    socket.connect(url);
    return socket;
  } catch (const zmq::error_t& error) {
    return Error{ErrorCode::Unreachable, "cannot dial " + url + ": " + error.what()};
  }
}

}  // namespace fettle::fleet
