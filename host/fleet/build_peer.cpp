// The loop around BuildPeerCore and BuildPool (build_peer.h): a thread, a socket.
#include "host/fleet/build_peer.h"

#include <deque>
#include <utility>
#include <zmq.hpp>

#include "host/fleet/curve.h"
#include "host/fleet/keys.h"

namespace fettle::fleet {
namespace {

constexpr milliseconds kFirstComplaint{5000}, kNextComplaint{60'000};
constexpr milliseconds kLastWords{500};

class BuildPeer {
 public:
  BuildPeer(BuildPeerOptions options, std::unique_ptr<BuildPool> pool, zmq::socket_t socket)
      : options_(std::move(options)),
        pool_(std::move(pool)),
        socket_(std::move(socket)),
        core_(options_.plan, random_id(), Clock::now()) {}

  Result<void> run() {
    while (!stopped()) {
      const TimePoint now = Clock::now();
      core_.tick(now);
      if (core_.error()) return Error(*core_.error());
      if (auto taken = take_built(now); !taken) return taken;
      while (auto request = core_.next()) pool_->submit(std::move(*request));
      for (Outgoing& next : core_.take_outgoing()) unsent_.push_back(std::move(next.bytes));
      tell(now);
      wait(send_all());
      receive();
    }
    if (core_.welcomed()) unsent_.push_back(pack_message(wire::GoodbyeT{}));
    if (send_all()) socket_.set(zmq::sockopt::linger, static_cast<int>(kLastWords.count()));
    return {};
  }

 private:
  bool stopped() const { return options_.stop != nullptr && options_.stop->requested(); }

  Result<void> take_built(TimePoint now) {
    auto results = pool_->poll(milliseconds(0));
    if (!results) return std::move(results).error();
    for (tune::Built& each : *results) core_.built(each.id, std::move(each.result), now);
    return {};
  }

  bool send_all() {
    while (!unsent_.empty()) {
      zmq::message_t message(unsent_.front()->data(), unsent_.front()->size());
      if (!socket_.send(message, zmq::send_flags::dontwait)) return false;
      unsent_.pop_front();
    }
    return true;
  }

  void wait(bool all_sent) {
    const int stop = options_.stop != nullptr ? options_.stop->fd() : -1;
    const short events = all_sent ? ZMQ_POLLIN : ZMQ_POLLIN | ZMQ_POLLOUT;
    zmq::pollitem_t items[] = {{socket_.handle(), 0, events, 0},
                               {nullptr, pool_->ready_fd(), ZMQ_POLLIN, 0},
                               {nullptr, stop, ZMQ_POLLIN, 0}};
    try {
      zmq::poll(items, stop >= 0 ? 3 : 2, core_.heartbeat() / 4 + milliseconds(1));
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) throw;
    }
  }

  void receive() {
    for (zmq::message_t message; socket_.recv(message, zmq::recv_flags::dontwait);) {
      if (message.more()) continue;
      core_.receive({static_cast<const std::uint8_t*>(message.data()), message.size()},
                    Clock::now());
    }
  }

  // Once for each time that the broker knows this worker, or for long does not.
  void tell(TimePoint now) {
    if (core_.welcomed() != std::exchange(told_, core_.welcomed())) {
      next_complaint_ = now + kFirstComplaint;
      if (core_.welcomed()) {
        options_.log("builds for " + options_.plan.where + " with " +
                     std::to_string(options_.plan.builders) + " compilers, version " +
                     options_.plan.version);
      }
    }
    if (core_.welcomed() || now < next_complaint_) return;
    next_complaint_ = now + kNextComplaint;
    options_.log("no answer from the broker at " + options_.plan.where +
                 ": is it running, is its key right, and is this key allowed there (`fettle keys "
                 "allow NAME '" +
                 options_.broker.keys.public_key + "' --role builder`)? Still trying");
  }

  BuildPeerOptions options_;
  std::unique_ptr<BuildPool> pool_;
  zmq::socket_t socket_;
  BuildPeerCore core_;
  std::deque<SharedBytes> unsent_;
  bool told_ = false;
  TimePoint next_complaint_ = Clock::now() + kFirstComplaint;
};

}  // namespace

Result<void> run_build_peer(BuildPeerOptions options) {
  options.plan.where = options.broker.url;
  options.plan.builders = static_cast<std::uint32_t>(options.pool.workers);
  if (!options.log) options.log = [](const std::string&) {};
  auto pool = BuildPool::start(options.pool);
  if (!pool) return std::move(pool).error();
  zmq::context_t context;
  auto socket =
      make_client(context, options.broker.url, options.broker.keys, options.broker.public_key);
  if (!socket) return std::move(socket).error();
  try {
    return BuildPeer(std::move(options), std::move(*pool), std::move(*socket)).run();
  } catch (const zmq::error_t& error) {
    return Error{ErrorCode::Io, std::string("the build worker's socket: ") + error.what(), {}};
  }
}

}  // namespace fettle::fleet
