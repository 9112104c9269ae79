// The session's socket thread around SessionCore, and the device list's short talk.
#include "host/fleet/session.h"

#include <sys/eventfd.h>
#include <unistd.h>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <zmq.hpp>

#include "host/fleet/curve.h"
#include "schemas/wire/limits.h"

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

struct Session::Loop {
  Loop(SessionPlan plan) : core(std::move(plan), random_id(), random_id(), Clock::now()) {}
  ~Loop() {
    if (wake_fd >= 0) ::close(wake_fd);
    if (ready_fd >= 0) ::close(ready_fd);
  }

  zmq::context_t context;
  zmq::socket_t socket;
  int wake_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int ready_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::mutex mutex;  // guards core and stopping
  std::condition_variable changed;
  SessionCore core;
  bool stopping = false;
  std::deque<SharedBytes> unsent;  // of the thread alone
  std::thread thread;

  // With the mutex held.
  void tell() {
    if (core.has_results() || core.error()) signal_fd(ready_fd);
    changed.notify_all();
  }

  bool send_all() {
    while (!unsent.empty()) {
      zmq::message_t message(unsent.front()->data(), unsent.front()->size());
      if (!socket.send(message, zmq::send_flags::dontwait)) return false;
      unsent.pop_front();
    }
    return true;
  }

  void run() {
    zmq::pollitem_t items[] = {{socket.handle(), 0, ZMQ_POLLIN, 0},
                               {nullptr, wake_fd, ZMQ_POLLIN, 0}};
    while (true) {
      milliseconds wait;
      {
        std::lock_guard lock(mutex);
        core.tick(Clock::now());
        if (stopping) core.close();
        for (Outgoing& next : core.take_outgoing()) unsent.push_back(std::move(next.bytes));
        tell();
        wait = core.heartbeat() / 4 + milliseconds(1);
      }
      try {
        const bool all = send_all();
        if (stop_now()) {
          socket.set(zmq::sockopt::linger, 500);  // let the close of the session out
          socket.close();
          return;
        }
        items[0].events = all ? ZMQ_POLLIN : ZMQ_POLLIN | ZMQ_POLLOUT;
        zmq::poll(items, 2, wait);
        if (items[1].revents != 0) clear_fd(wake_fd);
        for (zmq::message_t message; socket.recv(message, zmq::recv_flags::dontwait);) {
          if (message.more()) continue;
          std::lock_guard lock(mutex);
          core.receive(view(message), Clock::now());
        }
      } catch (const zmq::error_t& error) {
        if (error.num() == ETERM) return;
      }
    }
  }

  bool stop_now() {
    std::lock_guard lock(mutex);
    return stopping;
  }
};

Result<std::unique_ptr<Session>> Session::open(const BrokerAddress& broker, SessionPlan plan,
                                               const tune::StopSignal* stop) {
  plan.where = broker.url;
  plan.public_key = broker.keys.public_key;
  std::unique_ptr<Session> session(new Session);
  session->loop_ = std::make_unique<Loop>(std::move(plan));
  Loop& loop = *session->loop_;
  if (loop.wake_fd < 0 || loop.ready_fd < 0) return Error{ErrorCode::Io, "cannot make an eventfd"};
  auto socket = make_client(loop.context, broker.url, broker.keys, broker.public_key);
  if (!socket) return std::move(socket).error();
  loop.socket = std::move(*socket);
  loop.thread = std::thread([&loop] { loop.run(); });
  std::unique_lock lock(loop.mutex);
  while (!loop.changed.wait_for(lock, milliseconds(50),
                                [&] { return loop.core.opened() || loop.core.error(); })) {
    if (stop && stop->requested()) return Error{ErrorCode::Canceled, "interrupted", {}};
  }
  if (loop.core.error()) return Error(*loop.core.error());
  session->device_ = loop.core.device();
  session->board_ = loop.core.board();
  return session;
}

Session::~Session() {
  if (!loop_ || !loop_->thread.joinable()) return;
  {
    std::lock_guard lock(loop_->mutex);
    loop_->stopping = true;
  }
  signal_fd(loop_->wake_fd);
  loop_->thread.join();
}

std::size_t Session::capacity() const {
  std::lock_guard lock(loop_->mutex);
  return loop_->core.capacity();
}

void Session::offer_blob(const wire::Hash& hash, Bytes bytes) {
  std::lock_guard lock(loop_->mutex);
  loop_->core.offer_blob(hash, bytes);
}

void Session::submit(std::uint64_t trial, const wire::MeasureRequestT& request) {
  submit_to("", trial, request);
}

void Session::submit_to(const std::string& board_id, std::uint64_t trial,
                        const wire::MeasureRequestT& request) {
  Bytes encoded = encode(request);
  auto blobs = blobs_of(request);
  std::vector<Bytes> images;
  if (encoded.size() > limits::kPieceBytes) {
    wire::MeasureRequestT slim = request;
    images = take_images_out(slim);
    encoded = encode(slim);
    blobs = blobs_of(slim);
  }
  std::lock_guard lock(loop_->mutex);
  for (const Bytes& image : images) loop_->core.offer_blob(content_hash(image), image);
  loop_->core.submit(trial, encoded, std::move(blobs), board_id);
  signal_fd(loop_->wake_fd);
}

void Session::cancel_pending() {
  std::lock_guard lock(loop_->mutex);
  loop_->core.cancel_pending();
  signal_fd(loop_->wake_fd);
}

Result<std::vector<tune::Measured>> Session::poll(std::chrono::milliseconds wait) {
  std::unique_lock lock(loop_->mutex);
  loop_->changed.wait_for(lock, wait,
                          [&] { return loop_->core.has_results() || loop_->core.error(); });
  auto results = loop_->core.take_results();
  if (results.empty() && loop_->core.error()) return Error(*loop_->core.error());
  if (!loop_->core.error()) clear_fd(loop_->ready_fd);
  return results;
}

int Session::ready_fd() const { return loop_->ready_fd; }

Result<wire::DeviceListT> list_devices(const BrokerAddress& broker,
                                       std::chrono::milliseconds answer_within) {
  zmq::context_t context;
  // A thousand boards and what each is fit into no socket's usual limit.
  auto socket =
      make_client(context, broker.url, broker.keys, broker.public_key, limits::kMessageBytes);
  if (!socket) return std::move(socket).error();
  const auto say = [&](const SharedBytes& bytes) {
    zmq::message_t message(bytes->data(), bytes->size());
    socket->send(message, zmq::send_flags::none);
  };
  wire::HelloT hello;
  hello.protocol_version = limits::kProtocolVersion;
  hello.software_version = FETTLE_VERSION;
  hello.role = wire::Role::Client;
  hello.instance = random_id();
  const TimePoint end = Clock::now() + answer_within;
  try {
    say(pack_message(std::move(hello)));
    while (Clock::now() < end) {
      zmq::pollitem_t item{socket->handle(), 0, ZMQ_POLLIN, 0};
      const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
      zmq::poll(&item, 1, std::max(left, milliseconds(0)));
      zmq::message_t message;
      if (!socket->recv(message, zmq::recv_flags::dontwait)) continue;
      auto decoded = decode_message(view(message));
      if (!decoded)
        return std::move(decoded).error().in("asking " + broker.url + " for its devices");
      if (decoded->body.AsWelcome()) say(pack_message(wire::ListDevicesT{}));
      if (auto* list = decoded->body.AsDeviceList()) return std::move(*list);
      if (auto* reject = decoded->body.AsReject()) {
        return from_wire(*reject->error).in("asking " + broker.url + " for its devices");
      }
    }
  } catch (const zmq::error_t& error) {
    return Error{ErrorCode::Io, "talking to " + broker.url + ": " + error.what()};
  }
  return no_answer(broker.url, broker.keys.public_key, answer_within);
}

}  // namespace fettle::fleet
