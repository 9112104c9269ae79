// The play (fleet_model.h).
#include "tests/bench/planning/fleet_model.h"

#include <time.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "host/fleet/broker_core.h"
#include "host/fleet/session_core.h"
#include "schemas/wire/limits.h"
#include "tests/simulation/events.h"
#include "tests/support/fleet_request.h"

namespace fettle::bench {
namespace {

using fleet::Clock;
using fleet::milliseconds;
using fleet::SharedBytes;
using fleet::TimePoint;
using fleet::simulation::Events;

constexpr const char* kDeviceKey = "planned";
constexpr std::size_t kProgramBytes = 2000;  // of the request; larger ones travel as blobs
constexpr double kBusyEnough = 0.95;

Clock::duration of_ms(double ms) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(ms));
}

double cpu_us() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e6 + double(now.tv_nsec) / 1e3;
}

// The time that is looked at.
struct Window {
  TimePoint from, to;
};

// One that does one thing after the other, and how long it was at it in the window.
struct Worker {
  TimePoint free_at;
  Clock::duration busy{};
  // When it has done what comes to it now.
  TimePoint work(TimePoint now, Clock::duration time, const Window& window) {
    const TimePoint begin = std::max(free_at, now);
    free_at = begin + time;
    const TimePoint first = std::max(begin, window.from), last = std::min(free_at, window.to);
    if (last > first) busy += last - first;
    return free_at;
  }
};

class Play {
 public:
  explicit Play(const FleetModel& model) : model_(model), core_(1) {
    // Until queues are full: the slowest of what fills them, several times over.
    const double trial_ms = model.kernel_ms + model.build_ms + model.session_ms;
    const double fill_ms = 1000 + 4 * (model.kernel_ms * model.queue_depth + trial_ms);
    window_.from = events_.now() + of_ms(fill_ms);
    window_.to = window_.from + of_ms(std::max(model.seconds * 1000, 10 * trial_ms));
    builders_.resize(model.builders);
    // A trial of each place that boards have, and two candidates for each builder: as `tune` does.
    const unsigned held = model.boards * model.queue_depth;
    in_flight_ = model.in_flight > 0 ? model.in_flight : held + 2 * model.builders;
    for (unsigned i = 0; i < model.boards; ++i) add_board(i);
    for (unsigned i = 0; i < model.sessions; ++i) add_session(i);
    tick();
  }

  FleetForecast run() {
    play_until(window_.from);
    counts_ = {};
    core_spent_us_ = 0, heard_ = 0;
    play_until(window_.to);
    const double time = std::chrono::duration<double>(window_.to - window_.from).count();
    const auto share = [&](const auto& all, const auto& worker) {
      double sum = 0;
      for (const auto& one : all) sum += std::chrono::duration<double>(worker(one).busy).count();
      return all.empty() ? 0 : std::min(1.0, sum / time / double(all.size()));
    };
    FleetForecast told = counts_;
    told.results_per_second = double(told.results) / time;
    told.boards_busy = share(boards_, [](const Board& b) { return b.device; });
    told.builders_busy = share(builders_, [](const Worker& w) { return w; });
    told.sessions_busy = share(sessions_, [](const auto& s) { return s->host; });
    told.broker_busy = std::min(1.0, std::chrono::duration<double>(broker_.busy).count() / time);
    told.core_us = heard_ == 0 ? 0 : core_spent_us_ / double(heard_);
    return told;
  }

 private:
  struct Board {
    fleet::Permission who;
    fleet::PeerId peer;
    unsigned number = 0;
    std::vector<std::uint64_t> leases;
    Worker device;
  };
  struct Session {
    fleet::Permission who;
    fleet::PeerId peer;
    std::unique_ptr<fleet::SessionCore> core;
    Worker host;
    unsigned number = 0, candidates = 0;  // thought of, and not ended
  };

  void play_until(TimePoint end) {
    bool over = false;
    events_.at(end, [&over] { over = true; });
    while (!over && events_.step()) {
    }
  }

  // --- the broker: one message after the other ---
  // `who` outlives the play.
  void to_broker(const fleet::PeerId& from, const fleet::Permission& who, SharedBytes bytes) {
    events_.at(events_.now() + of_ms(model_.network_ms), [this, from, who = &who, bytes] {
      inbox_.push_back({from, who, bytes});
      if (!broker_at_work_) serve();
    });
  }

  void serve() {
    broker_at_work_ = !inbox_.empty();
    if (inbox_.empty()) return;
    const Message message = std::move(inbox_.front());
    inbox_.pop_front();
    const double before = cpu_us();
    core_.receive(message.from, *message.who, *message.bytes, events_.now());
    auto outgoing = core_.take_outgoing();
    (void)core_.take_events(), (void)core_.take_board_changes();
    const double spent = model_.core_us < 0 ? cpu_us() - before : model_.core_us;
    core_spent_us_ += spent;
    ++heard_;
    const double all_us = spent + model_.message_us * double(1 + outgoing.size());
    const TimePoint done = broker_.work(events_.now(), of_ms(all_us / 1000), window_);
    events_.at(done, [this, outgoing = std::move(outgoing)] {
      for (const fleet::Outgoing& each : outgoing) deliver(each);
      serve();
    });
  }

  void deliver(const fleet::Outgoing& message) {
    events_.at(events_.now() + of_ms(model_.network_ms), [this, message] {
      const auto number = std::size_t(std::stoul(message.to.substr(1)));
      if (message.to.front() == 'b') return hear(boards_.at(number), *message.bytes);
      Session& session = *sessions_.at(number);
      session.core->receive(*message.bytes, events_.now());
      turn(session);
    });
  }

  // Each begins at a time of its own, so that they do not all beat at once.
  template <typename Beat>
  void every(milliseconds period, unsigned number, unsigned all, Beat beat) {
    const double first_ms = double(period.count()) * double(number + 1) / double(all + 1);
    events_.at(events_.now() + of_ms(first_ms), [this, period, beat] { again(period, beat); });
  }
  template <typename Beat>
  void again(milliseconds period, Beat beat) {
    beat();
    events_.after(period, [this, period, beat] { again(period, beat); });
  }

  void tick() {
    core_.tick(events_.now());
    for (const fleet::Outgoing& each : core_.take_outgoing()) deliver(each);
    events_.after(milliseconds(500), [this] { tick(); });
  }

  // --- boards ---
  void add_board(unsigned number) {
    Board& board = boards_.emplace_back();
    board.number = number;
    board.peer = "b" + std::to_string(number);
    board.who = {
        "board-" + std::to_string(number), wire::Role::Agent, "key of " + board.peer, {}, {}};
    say_hello(board);
    every(milliseconds(1000), number, model_.boards, [this, number] {
      const Board& beats = boards_[number];
      wire::HeartbeatT beat;
      beat.instance = beats.number + 1;
      beat.leases = beats.leases;
      to_broker(beats.peer, beats.who, fleet::pack_message(std::move(beat)));
    });
  }

  void say_hello(const Board& board) {
    wire::HelloT hello;
    hello.protocol_version = limits::kProtocolVersion;
    hello.role = wire::Role::Agent;
    hello.instance = board.number + 1;
    hello.board = std::make_unique<wire::BoardT>();
    hello.board->id = board.who.name;
    auto device = std::make_unique<wire::DeviceInfoT>();
    device->key = kDeviceKey;
    device->queue_depth = model_.queue_depth;
    hello.devices.push_back(std::move(device));
    hello.leases = board.leases;
    to_broker(board.peer, board.who, fleet::pack_message(std::move(hello)));
  }

  void hear(Board& board, ByteView bytes) {
    const wire::Message* message = wire::GetMessage(bytes.data());
    if (message->body_as_HelloNeeded() != nullptr) return say_hello(board);
    const auto* assign = message->body_as_Assign();
    if (assign == nullptr) return;
    const std::uint64_t lease = assign->lease();
    board.leases.push_back(lease);
    const TimePoint done = board.device.work(events_.now(), of_ms(model_.kernel_ms), window_);
    events_.at(done, [this, &board, lease] {
      std::erase(board.leases, lease);
      wire::DoneT message;
      message.lease = lease;
      message.outcome = outcome_;
      to_broker(board.peer, board.who, fleet::pack_message(std::move(message)));
    });
  }

  // --- sessions: think, have built, submit ---
  void add_session(unsigned number) {
    Session& session = *sessions_.emplace_back(std::make_unique<Session>());
    session.number = number;
    session.peer = "s" + std::to_string(number);
    session.who = {
        "session-" + std::to_string(number), wire::Role::Client, "key of " + session.peer, {}, {}};
    fleet::SessionPlan plan;
    plan.device_key = kDeviceKey;
    plan.where = "simulated";
    plan.answer_within = plan.away_at_most = milliseconds(60'000);
    // After the boards are there.
    events_.after(milliseconds(100), [this, &session, plan, number] {
      session.core =
          std::make_unique<fleet::SessionCore>(plan, number + 1, number + 1, events_.now());
      turn(session);
    });
    every(milliseconds(500), number, model_.sessions, [this, &session] {
      if (!session.core) return;
      session.core->tick(events_.now());
      turn(session);
    });
  }

  unsigned most_of(const Session& session) const {
    const unsigned more = session.number < in_flight_ % model_.sessions ? 1 : 0;
    return in_flight_ / model_.sessions + more;
  }

  void turn(Session& session) {
    for (const tune::Measured& result : session.core->take_results()) {
      ++(result.outcome.body.AsMeasurement() ? counts_.results : counts_.failures);
      --session.candidates;
    }
    while (session.core->opened() && session.candidates < most_of(session)) {
      ++session.candidates;
      const TimePoint thought = session.host.work(events_.now(), of_ms(model_.session_ms), window_);
      events_.at(thought, [this, &session] { build(session); });
    }
    for (fleet::Outgoing& each : session.core->take_outgoing()) {
      to_broker(session.peer, session.who, std::move(each.bytes));
    }
  }

  // By the builder that is free first.
  void build(Session& session) {
    const auto first =
        std::min_element(builders_.begin(), builders_.end(),
                         [](const Worker& a, const Worker& b) { return a.free_at < b.free_at; });
    const TimePoint built = first == builders_.end()
                                ? events_.now()
                                : first->work(events_.now(), of_ms(model_.build_ms), window_);
    events_.at(built, [this, &session] {
      request_.options->racing_bound_ns = double(++trial_);
      session.core->submit(trial_, encode(request_), {});
      turn(session);
    });
  }

  struct Message {
    fleet::PeerId from;
    const fleet::Permission* who;
    SharedBytes bytes;
  };

  const FleetModel model_;
  Events events_;
  Window window_;
  fleet::BrokerCore core_;
  Worker broker_;
  bool broker_at_work_ = false;
  std::deque<Message> inbox_;
  double core_spent_us_ = 0;
  std::uint64_t heard_ = 0;
  std::deque<Board> boards_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<Worker> builders_;
  unsigned in_flight_ = 0;
  wire::MeasureRequestT request_ = fleet::small_request(0, kProgramBytes);
  const Bytes outcome_ = fleet::small_outcome();
  std::uint64_t trial_ = 0;
  FleetForecast counts_;
};

}  // namespace

FleetForecast forecast(const FleetModel& model) { return Play(model).run(); }

const char* limit_of(const FleetForecast& f) {
  if (f.broker_busy >= kBusyEnough) return "the broker";
  if (f.boards_busy >= kBusyEnough) return "boards";
  if (f.builders_busy >= kBusyEnough) return "builders";
  if (f.sessions_busy >= kBusyEnough) return "sessions";
  return "trials in flight";
}

}  // namespace fettle::bench
