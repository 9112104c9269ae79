// The thread of a session (session_loop.h).
#include "host/fleet/session_loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "host/fleet/curve.h"
#include "host/fleet/reachable.h"

namespace fettle::fleet {
namespace {

void signal_fd(int fd) {
  const std::uint64_t one = 1;
  if (::write(fd, &one, sizeof one) < 0) { /* the counter is full: it is readable already */
  }
}
void clear_fd(int fd) {
  std::uint64_t count = 0;
  if (::read(fd, &count, sizeof count) < 0) { /* it was clear */
  }
}

ByteView view(const zmq::message_t& message) {
  return {static_cast<const std::uint8_t*>(message.data()), message.size()};
}

}  // namespace

// With the mutex held.
void SessionLoop::tell() {
  if (core_.has_results() || core_.error()) signal_fd(ready_fd_);
  changed_.notify_all();
}

bool SessionLoop::send_all() {
  while (!unsent_.empty()) {
    zmq::message_t message(unsent_.front()->data(), unsent_.front()->size());
    if (!socket_.send(message, zmq::send_flags::dontwait)) return false;
    unsent_.pop_front();
  }
  return true;
}

void SessionLoop::run() {
  zmq::pollitem_t items[] = {{socket_.handle(), 0, ZMQ_POLLIN, 0},
                             {nullptr, wake_fd_, ZMQ_POLLIN, 0}};
  while (true) {
    milliseconds wait;
    bool stop = false;
    {
      const std::lock_guard lock(mutex_);
      core_.tick(Clock::now());
      stop = stopping_;
      if (stop) core_.close();
      for (Outgoing& next : core_.take_outgoing()) unsent_.push_back(std::move(next.bytes));
      tell();
      wait = core_.heartbeat() / 4 + milliseconds(1);
    }
    try {
      const bool all = send_all();
      if (stop) {
        socket_.set(zmq::sockopt::linger, 500);  // let the close of the session out
        socket_.close();
        return;
      }
      items[0].events = all ? ZMQ_POLLIN : ZMQ_POLLIN | ZMQ_POLLOUT;
      zmq::poll(items, 2, wait);
      if (items[1].revents != 0) clear_fd(wake_fd_);
      for (zmq::message_t message; socket_.recv(message, zmq::recv_flags::dontwait);) {
        if (message.more()) continue;
        const std::lock_guard lock(mutex_);
        core_.receive(view(message), Clock::now());
      }
    } catch (const zmq::error_t& error) {
      if (error.num() == ETERM) return;
    }
  }
}

Result<std::unique_ptr<SessionLoop>> SessionLoop::open(const BrokerAddress& broker,
                                                       SessionPlan plan,
                                                       const tune::StopSignal* stop) {
  plan.where = broker.url;
  plan.public_key = broker.keys.public_key;
  std::unique_ptr<SessionLoop> loop;
  try {
    loop.reset(new SessionLoop(std::move(plan)));
  } catch (const zmq::error_t& error) {  // no descriptor is left
    return Error{ErrorCode::Io, "talking to " + broker.url + ": " + error.what(), {}};
  }
  loop->wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  loop->ready_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (loop->wake_fd_ < 0 || loop->ready_fd_ < 0)
    return Error{ErrorCode::Io, "cannot make an eventfd"};
  auto socket = make_client(loop->context_, broker.url, broker.keys, broker.public_key);
  if (!socket) return std::move(socket).error();
  loop->socket_ = std::move(*socket);
  loop->thread_ = std::thread([&run = *loop] { run.run(); });
  std::unique_lock lock(loop->mutex_);
  while (!loop->changed_.wait_for(lock, milliseconds(50),
                                  [&] { return loop->core_.opened() || loop->core_.error(); })) {
    if (stop && stop->requested()) break;
  }
  std::optional<Error> failed = loop->core_.error();
  if (!failed && !loop->core_.opened()) failed = Error{ErrorCode::Canceled, "interrupted", {}};
  lock.unlock();  // or the loop could not end
  if (failed && failed->code == ErrorCode::Unreachable) {
    if (const std::string cause = why_unreachable(broker.url); !cause.empty())
      return no_answer(broker.url, cause);
  }
  if (failed) return std::move(*failed);
  return loop;
}

SessionLoop::~SessionLoop() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    signal_fd(wake_fd_);
    thread_.join();
  }
  if (wake_fd_ >= 0) ::close(wake_fd_);
  if (ready_fd_ >= 0) ::close(ready_fd_);
}

void SessionLoop::with_core(const std::function<void(SessionCore&)>& act) {
  const std::lock_guard lock(mutex_);
  act(core_);
  signal_fd(wake_fd_);
}

void SessionLoop::look(const std::function<void(const SessionCore&)>& at) const {
  const std::lock_guard lock(mutex_);
  at(core_);
}

void SessionLoop::when_ready(milliseconds wait, const std::function<void(SessionCore&)>& act) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, wait, [&] { return core_.has_results() || core_.error(); });
  act(core_);
  if (!core_.error()) clear_fd(ready_fd_);
}

}  // namespace fettle::fleet
