// Outbox (outbox.h).
#include "host/fleet/outbox.h"

#include <utility>

namespace fettle::fleet {

Outbox::Charged::Charged(SharedBytes what, Account whose)
    : bytes(std::move(what)), account(std::move(whose)) {
  account->fetch_add(bytes->size(), std::memory_order_relaxed);
}

Outbox::Charged::~Charged() { account->fetch_sub(bytes->size(), std::memory_order_relaxed); }

Outbox::Sent Outbox::send(const PeerId& to, const std::string& account, SharedBytes bytes) {
  Account& charged = accounts_[account];
  if (!charged) charged = std::make_shared<std::atomic<std::size_t>>(0);
  auto message = std::make_unique<Charged>(std::move(bytes), charged);
  const auto behind = waiting_.find(to);
  const Sent sent = behind == waiting_.end() ? send_now(to, message) : Sent::Waits;
  if (sent == Sent::Waits) waiting_[to].push_back(std::move(message));
  return sent;
}

Outbox::Sent Outbox::send_now(const PeerId& to, Message& message) {
  try {
    zmq::message_t address(to.data(), to.size());
    const auto flags = zmq::send_flags::sndmore | zmq::send_flags::dontwait;
    if (!socket_.send(address, flags)) return Sent::Waits;
    Charged& of = *message;
    zmq::message_t body(
        const_cast<std::uint8_t*>(of.bytes->data()), of.bytes->size(),
        [](void*, void* hint) { delete static_cast<Charged*>(hint); }, &of);
    message.release();  // the socket's now, sent or not
    if (socket_.send(body, zmq::send_flags::dontwait)) return Sent::Yes;
    // A ROUTER that took the address takes the rest, too.
    return Sent::Gone;
  } catch (const zmq::error_t& error) {
    if (error.num() == ETERM) throw;
    return Sent::Gone;  // EHOSTUNREACH
  }
}

std::vector<PeerId> Outbox::retry() {
  std::vector<PeerId> gone;
  for (auto entry = waiting_.begin(); entry != waiting_.end();) {
    auto& [peer, messages] = *entry;
    Sent sent = Sent::Yes;
    while (!messages.empty() && sent == Sent::Yes) {
      sent = send_now(peer, messages.front());
      if (sent == Sent::Yes) messages.pop_front();
    }
    if (sent == Sent::Gone) gone.push_back(peer);
    entry = sent == Sent::Waits ? std::next(entry) : waiting_.erase(entry);
  }
  return gone;
}

std::size_t Outbox::unread(const std::string& account) const {
  const auto found = accounts_.find(account);
  return found == accounts_.end() ? 0 : found->second->load(std::memory_order_relaxed);
}

void Outbox::tidy() {
  std::erase_if(accounts_, [](const auto& entry) { return entry.second.use_count() == 1; });
}

}  // namespace fettle::fleet
