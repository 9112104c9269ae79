// Outbox: sends to the peers of a ROUTER socket, keeps what their pipes do not take, and knows
// how much of each account's messages nobody has read yet: those in ZeroMQ's own pipes, which
// count messages but not their bytes, and those that wait here.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>
#include <zmq.hpp>

#include "host/fleet/peer.h"

namespace fettle::fleet {

// Of one thread, but for the socket's own, which gives messages back.
class Outbox {
 public:
  enum class Sent { Yes, Waits, Gone };

  // The socket must outlive this object.
  explicit Outbox(zmq::socket_t& socket) : socket_(socket) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // In the order of calls for each peer. Gone: there is no such connection.
  Sent send(const PeerId& to, const std::string& account, SharedBytes bytes);
  // Tries what waits; the peers that are gone, with what waited for them. Soon again while there
  // is any: a ROUTER tells no single pipe's room.
  std::vector<PeerId> retry();
  bool any_waits() const { return !waiting_.empty(); }
  // Of what waits for it here.
  void forget(const PeerId& peer) { waiting_.erase(peer); }

  // Bytes that were sent to peers of that account and not read yet, but for what the kernel holds.
  std::size_t unread(const std::string& account) const;
  // Forgets accounts of which all is read. Now and then.
  void tidy();

 private:
  using Account = std::shared_ptr<std::atomic<std::size_t>>;
  // One message: charged as long as it is somewhere.
  struct Charged {
    Charged(SharedBytes what, Account whose);
    ~Charged();
    Charged(const Charged&) = delete;
    Charged& operator=(const Charged&) = delete;
    SharedBytes bytes;
    Account account;
  };
  using Message = std::unique_ptr<Charged>;

  // Takes the message only where it is sent.
  Sent send_now(const PeerId& to, Message& message);

  zmq::socket_t& socket_;
  std::unordered_map<PeerId, std::deque<Message>> waiting_;
  std::map<std::string, Account> accounts_;
};

}  // namespace fettle::fleet
