// The load's threads, agents and clients (fleet_load.h).
#include "tests/bench/fleet_load.h"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <zmq.hpp>

#include "host/fleet/curve.h"
#include "host/fleet/session_core.h"
#include "tests/support/fleet_request.h"

namespace fettle::bench {

using fleet::Clock;
using fleet::milliseconds;
using fleet::TimePoint;

namespace {

// Trials whose times are known at one time: more than are in flight, as a late one's number is far
// behind the newest.
constexpr std::size_t kSlots = 1 << 19;
static_assert(kSlots >= 4 * kMostInFlight);
constexpr unsigned kFilesOfSocket = 2;  // its mailbox and its connection

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
          .count());
}

}  // namespace

struct FleetLoad::Shared {
  explicit Shared(const FleetLoadPlan& given) : plan(given), submitted(kSlots), done(kSlots) {}
  FleetLoadPlan plan;
  std::vector<std::atomic<std::uint64_t>> submitted, done;  // ns, by the trial's number
  std::atomic<std::uint64_t> next_trial{1};
  std::atomic<unsigned> in_flight{0};  // of all clients
  std::atomic<double> per_second{0}, killed_share{0};
  std::atomic<bool> stopping{false};
};

class FleetLoad::Thread {
 public:
  Thread(Shared& shared, unsigned number) : shared_(shared), random_(number) {
    const FleetLoadPlan& plan = shared.plan;
    context_.set(zmq::ctxopt::max_sockets, int(plan.agents + plan.clients + 64));
    for (unsigned i = number; i < plan.agents; i += plan.threads) add(true, i);
    for (unsigned i = number; i < plan.clients; i += plan.threads) add(false, i);
  }
  ~Thread() {
    if (thread_.joinable()) thread_.join();
    if (epoll_ >= 0) ::close(epoll_);
  }
  Result<void> start() {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (epoll_ < 0) return Error{ErrorCode::Io, "cannot make an epoll descriptor"};
    for (auto& peer : peers_) {
      if (auto dialled = dial(*peer); !dialled) return dialled;
    }
    thread_ = std::thread([this] { run(); });
    return {};
  }

  mutable std::mutex mutex;  // guards counts
  FleetLoadCounts counts;

 private:
  struct Peer {
    bool is_agent;
    unsigned number;
    zmq::socket_t socket;
    std::deque<fleet::SharedBytes> unsent;
    // An agent's.
    std::uint64_t instance = 0;
    bool welcomed = false;
    std::vector<std::uint64_t> leases;
    TimePoint last_said, device_free;
    // A client's.
    std::unique_ptr<fleet::SessionCore> core;
    TimePoint next_submit;
  };
  struct Answer {
    Peer* peer;
    std::uint64_t instance, lease, trial;
  };

  void add(bool is_agent, unsigned number) {
    peers_.push_back(std::make_unique<Peer>());
    peers_.back()->is_agent = is_agent;
    peers_.back()->number = number;
  }

  Result<void> dial(Peer& peer) {
    const FleetLoadPlan& plan = shared_.plan;
    auto socket = fleet::make_client(context_, plan.url,
                                     peer.is_agent ? plan.agent_keys.at(peer.number) : plan.client,
                                     plan.broker_key);
    if (!socket) return std::move(socket).error();
    peer.socket = std::move(*socket);
    peer.unsent.clear();
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.ptr = &peer;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, peer.socket.get(zmq::sockopt::fd), &event) != 0) {
      return Error{ErrorCode::Io, "cannot watch a socket"};
    }
    const TimePoint now = Clock::now();
    if (peer.is_agent) {
      peer.instance = fleet::random_id();
      peer.welcomed = false;
      peer.leases.clear();
      peer.device_free = {};
      say_hello(peer, now);
    } else {
      fleet::SessionPlan session;
      session.device_key = "load";
      session.where = plan.url;
      session.answer_within = session.away_at_most = milliseconds(60'000);
      peer.core = std::make_unique<fleet::SessionCore>(session, fleet::random_id(),
                                                       fleet::random_id(), now);
      peer.next_submit = now;
    }
    service(peer, now);
    return {};
  }

  void say_hello(Peer& peer, TimePoint now) {
    wire::HelloT hello;
    hello.protocol_version = limits::kProtocolVersion;
    hello.role = wire::Role::Agent;
    hello.instance = peer.instance;
    hello.board = std::make_unique<wire::BoardT>();
    hello.board->id = "load-" + std::to_string(peer.number);
    auto device = std::make_unique<wire::DeviceInfoT>();
    device->key = "load";
    device->queue_depth = shared_.plan.queue_depth;
    hello.devices.push_back(std::move(device));
    hello.leases = peer.leases;
    peer.last_said = now;
    peer.unsent.push_back(fleet::pack_message(std::move(hello)));
  }

  // What is waiting goes out, what has come is taken; until neither is possible, as the
  // descriptor of a ZeroMQ socket tells changes only.
  void service(Peer& peer, TimePoint now) {
    for (bool more = true; more;) {
      more = false;
      if (peer.core) {
        for (auto& next : peer.core->take_outgoing()) peer.unsent.push_back(std::move(next.bytes));
      }
      while (!peer.unsent.empty()) {
        zmq::message_t message(peer.unsent.front()->data(), peer.unsent.front()->size());
        if (!peer.socket.send(message, zmq::send_flags::dontwait)) break;
        peer.unsent.pop_front();
      }
      zmq::message_t message;
      while (peer.socket.recv(message, zmq::recv_flags::dontwait)) {
        more = true;
        const ByteView bytes{static_cast<const std::uint8_t*>(message.data()), message.size()};
        if (peer.is_agent)
          hear(peer, bytes, now);
        else
          peer.core->receive(bytes, now);
      }
      if (peer.core) more |= client_turn(peer, now);
      if (!peer.is_agent && !peer.unsent.empty()) break;  // the pipe is full: at the next turn
    }
  }

  void hear(Peer& agent, ByteView bytes, TimePoint now) {
    const wire::Message* message = wire::GetMessage(bytes.data());
    if (const auto* assign = message->body_as_Assign()) {
      const auto* request = flatbuffers::GetRoot<wire::MeasureRequest>(assign->request()->data());
      const auto trial = static_cast<std::uint64_t>(request->options()->racing_bound_ns());
      local_.to_assigned.add(double(now_ns() - shared_.submitted[trial % kSlots]));
      agent.leases.push_back(assign->lease());
      // One trial after the other, as a device does them.
      agent.device_free =
          std::max(agent.device_free, now) +
          std::chrono::duration_cast<Clock::duration>(
              std::chrono::duration<double, std::milli>(shared_.plan.answer_after_ms));
      answers_.emplace(agent.device_free, Answer{&agent, agent.instance, assign->lease(), trial});
      if (shared_.plan.answer_after_ms == 0) answer_due(now);
    } else if (const auto* release = message->body_as_Release()) {
      std::erase(agent.leases, release->lease());
    } else if (message->body_as_HelloNeeded()) {
      agent.welcomed = false;
      say_hello(agent, now);
    } else if (message->body_as_Welcome()) {
      agent.welcomed = true;
    }
  }

  void answer_due(TimePoint now) {
    while (!answers_.empty() && answers_.begin()->first <= now) {
      const Answer answer = answers_.begin()->second;
      answers_.erase(answers_.begin());
      if (answer.peer->instance != answer.instance) continue;
      if (std::erase(answer.peer->leases, answer.lease) == 0) continue;
      wire::DoneT done;
      done.lease = answer.lease;
      done.outcome = outcome_;
      answer.peer->unsent.push_back(fleet::pack_message(std::move(done)));
      shared_.done[answer.trial % kSlots] = now_ns();
      if (shared_.plan.answer_after_ms > 0) service(*answer.peer, now);
    }
  }

  // True: it submitted, so there is more to send.
  bool client_turn(Peer& client, TimePoint now) {
    for (const tune::Measured& result : client.core->take_results()) {
      if (!result.outcome.body.AsMeasurement()) {
        ++local_.failures;
        continue;
      }
      ++local_.results;
      local_.to_completed.add(double(now_ns() - shared_.done[result.trial % kSlots]));
    }
    if (!client.core->opened() || client.core->error()) return false;
    const unsigned in_flight = shared_.in_flight, clients = shared_.plan.clients;
    const unsigned most = in_flight / clients + (client.number < in_flight % clients ? 1 : 0);
    const double rate = shared_.per_second / clients;
    bool any = false;
    while (client.core->in_flight() < most && (rate == 0 || client.next_submit <= now)) {
      if (rate > 0) {
        client.next_submit =
            std::max(client.next_submit, now - milliseconds(20)) +
            std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 / rate));
      }
      const std::uint64_t trial = shared_.next_trial++;
      request_.options->racing_bound_ns = double(trial);
      shared_.submitted[trial % kSlots] = now_ns();
      client.core->submit(trial, encode(request_), {});
      any = true;
    }
    return any;
  }

  void beat(Peer& peer, TimePoint now) {
    if (!peer.is_agent) {
      peer.core->tick(now);
      if (peer.core->error()) {
        ++local_.errors;
        restart(peer);
        return;
      }
    } else if (now - peer.last_said >= milliseconds(1000)) {
      if (!peer.welcomed) {
        say_hello(peer, now);
      } else {
        peer.last_said = now;
        wire::HeartbeatT beat;
        beat.instance = peer.instance;
        beat.leases = peer.leases;
        peer.unsent.push_back(fleet::pack_message(std::move(beat)));
      }
    }
    service(peer, now);
  }

  void restart(Peer& peer) {
    peer.core.reset();
    peer.socket.close();
    if (!dial(peer)) ++local_.errors;
  }

  void kill_some() {
    const double share = shared_.killed_share;
    if (share == 0) return;
    for (auto& peer : peers_) {
      if (std::uniform_real_distribution<double>()(random_) >= share) continue;
      ++local_.kills;
      restart(*peer);
    }
  }

  void publish() {
    local_.agents_welcomed = local_.clients_opened = 0;
    for (const auto& peer : peers_) {
      local_.agents_welcomed += peer->is_agent && peer->welcomed;
      local_.clients_opened += peer->core && peer->core->opened();
    }
    const std::lock_guard lock(mutex);
    if (std::exchange(forget, false)) local_.to_assigned = local_.to_completed = {};
    counts = local_;
  }

  void run() {
    TimePoint next_beat = Clock::now(), next_kill = next_beat, next_look = next_beat;
    std::size_t turn = 0;
    while (!shared_.stopping) {
      epoll_event events[256];
      const bool paced = shared_.per_second > 0 || shared_.plan.answer_after_ms > 0;
      const int count = ::epoll_wait(epoll_, events, 256, paced ? 1 : 10);
      TimePoint now = Clock::now();
      for (int i = 0; i < count; ++i) service(*static_cast<Peer*>(events[i].data.ptr), now);
      answer_due(now);
      if (now >= next_beat) {  // a twentieth of the peers each time, all four times a second
        next_beat = now + milliseconds(12);
        const std::size_t some = peers_.size() / 20 + 1;
        for (std::size_t i = 0; i < some; ++i) beat(*peers_[turn++ % peers_.size()], now);
      }
      if (now >= next_look) {
        next_look = now + milliseconds(paced ? 1 : 20);
        for (auto& peer : peers_)
          if (!peer->is_agent) service(*peer, now);
        publish();
      }
      if (now >= next_kill) {
        next_kill = now + milliseconds(1000);
        kill_some();
      }
    }
    for (auto& peer : peers_) {
      if (peer->core) peer->core->close();
      service(*peer, Clock::now());
      peer->socket.close();
    }
  }

  Shared& shared_;
  std::mt19937_64 random_;
  zmq::context_t context_;
  int epoll_ = -1;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::multimap<TimePoint, Answer> answers_;  // by when they are due
  FleetLoadCounts local_;
  // As long as with a small kernel.
  wire::MeasureRequestT request_ = fleet::small_request(0, 2000);
  const Bytes outcome_ = fleet::small_outcome();
  std::thread thread_;

 public:
  bool forget = false;  // guarded by mutex
};

Result<std::unique_ptr<FleetLoad>> FleetLoad::start(const FleetLoadPlan& plan) {
  rlimit files{};
  const rlim_t wanted = (plan.agents + plan.clients) * kFilesOfSocket + 200;
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < wanted) {
    files.rlim_cur = std::min(wanted, files.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur < wanted) {
      return Error{ErrorCode::InvalidArgument,
                   "so many connections need " + std::to_string(wanted) + " open files, here are " +
                       std::to_string(files.rlim_max) + " at most: ulimit -n"};
    }
  }
  std::unique_ptr<FleetLoad> load(new FleetLoad);
  load->shared_ = std::make_unique<Shared>(plan);
  for (unsigned i = 0; i < plan.threads; ++i) {
    load->threads_.push_back(std::make_unique<Thread>(*load->shared_, i));
    if (auto started = load->threads_.back()->start(); !started) {
      load->shared_->stopping = true;
      return std::move(started).error();
    }
  }
  return load;
}

FleetLoad::~FleetLoad() {
  shared_->stopping = true;
  threads_.clear();
}

void FleetLoad::ask(unsigned in_flight, double per_second) {
  shared_->per_second = per_second;
  shared_->in_flight = in_flight;
}

void FleetLoad::kill_each_second(double share) { shared_->killed_share = share; }

FleetLoadCounts FleetLoad::counts() const {
  FleetLoadCounts all;
  for (const auto& thread : threads_) {
    const std::lock_guard lock(thread->mutex);
    const FleetLoadCounts& some = thread->counts;
    all.results += some.results;
    all.failures += some.failures;
    all.kills += some.kills;
    all.errors += some.errors;
    all.agents_welcomed += some.agents_welcomed;
    all.clients_opened += some.clients_opened;
    all.to_assigned.add(some.to_assigned);
    all.to_completed.add(some.to_completed);
  }
  return all;
}

void FleetLoad::forget_latencies() {
  for (auto& thread : threads_) {
    const std::lock_guard lock(thread->mutex);
    thread->forget = true;
    thread->counts.to_assigned = thread->counts.to_completed = {};
  }
}

}  // namespace fettle::bench
