// The loop around a BrokerCore, as Broker's has it (sim_broker.h).
#include "tests/simulation/sim_broker.h"

#include <algorithm>
#include <cstdio>

namespace fettle::fleet::simulation {

namespace {
std::string name_in(const PeerId& peer) { return peer.substr(0, peer.find('#')); }

std::string short_name(std::uint64_t number) { return std::to_string(number % 10'000); }

std::string describe(const wire::MessageT& message) {
  std::string text = wire::EnumNameBody(message.body.type);
  const auto add = [&](const std::vector<std::uint64_t>& leases) {
    for (std::uint64_t lease : leases) text += " " + short_name(lease);
  };
  if (const auto* hello = message.body.AsHello()) add(hello->leases);
  if (const auto* beat = message.body.AsHeartbeat()) add(beat->leases);
  if (const auto* assign = message.body.AsAssign()) add({assign->lease});
  if (const auto* release = message.body.AsRelease()) add({release->lease});
  if (const auto* done = message.body.AsDone()) add({done->lease});
  if (const auto* submit = message.body.AsSubmit()) add({submit->session, submit->trial});
  if (const auto* completed = message.body.AsCompleted())
    add({completed->session, completed->trial});
  return text;
}
}  // namespace

BrokerLimits sim_limits() {
  BrokerLimits limits;
  limits.sessions = 4;
  limits.in_flight = 24;
  limits.completed_kept = 24;
  limits.queue_depth = 4;
  limits.blob_bytes = 24 << 10;  // some must go for others
  return limits;
}

BrokerTimes sim_times() {
  BrokerTimes times;
  times.no_board = milliseconds(60'000);
  times.upload = milliseconds(60'000);
  return times;
}

SimBroker::SimBroker(Events& events, Network& network, Random random, Broken broken, bool trace)
    : events_(events),
      network_(network),
      random_(random),
      broken_(std::move(broken)),
      trace_(trace) {
  network_.set_broker([this](const PeerId& from, const Permission& who, const SharedBytes& bytes) {
    receive(from, who, bytes);
  });
  start();
}

void SimBroker::start() {
  ++run_;
  core_ = std::make_unique<BrokerCore>(0xb0000000 + run_, sim_times(), sim_limits());
  counted_.clear();
  stands_until_ = now();
  stood_ = milliseconds(0);
  network_.broker_up();
  tick();
}

std::vector<LeaseId> SimBroker::leases_of_others(const std::string& agent) const {
  std::vector<LeaseId> all;
  for (const auto& [owner, lease] : leases_)
    if (owner != agent) all.push_back(lease);
  return all;
}

void SimBroker::restart(milliseconds down) {
  if (!up()) return;
  core_.reset();
  unread_.clear();
  network_.broker_down();
  events_.after(down, [this] { start(); });
}

void SimBroker::stand_still(milliseconds time) {
  if (!up() || stands_until_ > now()) return;
  stands_until_ = now() + time;
  stood_ = time;
  events_.at(stands_until_, [this, run = run_] {
    if (run != run_ || !up()) return;
    if (stood_ > sim_times().heartbeat) core_->stood_still(stood_);
    core_->tick(now());
    flush();
    for (Unread& next : std::exchange(unread_, {})) receive(next.from, next.who, next.bytes);
  });
}

void SimBroker::refuse(const std::string& public_key, bool refused) {
  network_.refuse(public_key, refused);
  events_.after(random_.between(0, 1000), [this] { recheck(); });
}

void SimBroker::recheck() {
  if (!up()) return;
  core_->recheck([this](const Permission& who) { return !network_.refuses(who.public_key); },
                 now());
  flush();
}

void SimBroker::tick() {
  if (stands_until_ <= now()) {
    core_->tick(now());
    core_->take_board_changes();
    flush();
  }
  events_.after(sim_times().heartbeat / 2, [this, run = run_] {
    if (run == run_ && up()) tick();
  });
}

void SimBroker::receive(const PeerId& from, const Permission& who, const SharedBytes& bytes) {
  if (!up()) return;
  if (stands_until_ > now()) {
    unread_.push_back({from, who, bytes});
    return;
  }
  if (network_.refuses(who.public_key)) {  // revoked since it dialled
    core_->refused(from, now());
    flush();
    return;
  }
  const auto message = decode_message(*bytes);
  if (message && message->body.AsSubmit()) {
    const auto& submit = *message->body.AsSubmit();
    ++counted_[who.name + " " + std::to_string(submit.session) + " " + std::to_string(submit.trial)]
          .submits;
  }
  note("from", from, *bytes);
  released_.clear();
  answered_ = true;
  core_->receive(from, who, *bytes, now());
  flush();
  if (message && who.role == wire::Role::Agent && answered_) check_released(from, *message);
}

// A board works on nothing that the broker does not want from it: it is told so.
void SimBroker::check_released(const PeerId& from, const wire::MessageT& message) {
  const auto* beat = message.body.AsHeartbeat();
  const auto* hello = message.body.AsHello();
  if (!beat && !hello) return;
  for (LeaseId lease : beat ? beat->leases : hello->leases) {
    const bool told = std::find(released_.begin(), released_.end(), lease) != released_.end();
    if (!told && !holds_lease(*core_, lease)) {
      broken_("the agent of " + from + " was not told that its lease has ended");
    }
  }
}

void SimBroker::flush() {
  for (auto outgoing = core_->take_outgoing(); !outgoing.empty();
       outgoing = core_->take_outgoing()) {
    for (const Outgoing& next : outgoing) {
      note("to", next.to, *next.bytes);
      const wire::Message* message = wire::GetMessage(next.bytes->data());
      if (const auto* assign = message->body_as_Assign()) {
        leases_.emplace_back(name_in(next.to), assign->lease());
        if (leases_.size() > 32) leases_.pop_front();
      }
      if (const auto* release = message->body_as_Release()) released_.push_back(release->lease());
      if (message->body_as_HelloNeeded() || message->body_as_Reject()) answered_ = false;
      if (const auto* completed = message->body_as_Completed()) {
        const std::string name = name_in(next.to);
        Counted& counted = counted_[name + " " + std::to_string(completed->session()) + " " +
                                    std::to_string(completed->trial())];
        if (++counted.answers > counted.submits) {
          broken_("a trial of " + name + " was completed " + std::to_string(counted.answers) +
                  " times, and submitted " + std::to_string(counted.submits) + " times");
        }
      }
      if (!network_.deliver(next.to, next.bytes)) core_->unreachable(next.to, now());
    }
  }
  look();
}

void SimBroker::note(const char* way, const PeerId& peer, ByteView message) {
  if (trace_) {
    const auto ms = std::chrono::duration_cast<milliseconds>(now().time_since_epoch()).count();
    const auto decoded = decode_message(message);
    std::printf("%8lld ms %4s %s: %s\n", static_cast<long long>(ms - 3'600'000), way, peer.c_str(),
                decoded ? describe(*decoded).c_str() : "no message");
  }
  const auto add = [this](std::uint64_t word) {
    digest_ = (digest_ ^ word) * 0x100000001b3;
    digest_ ^= digest_ >> 29;
  };
  for (char letter : peer) add(static_cast<std::uint8_t>(letter));
  add(static_cast<std::uint64_t>(now().time_since_epoch().count()));
  add(message.size());
}

void SimBroker::look() {
  if (auto broken = broken_invariant(*core_); !broken.empty()) broken_(broken);
  const BrokerState state = state_of(*core_);
  most_.peers = std::max(most_.peers, state.peers);
  most_.trials = std::max(most_.trials, state.trials);
  most_.leases = std::max(most_.leases, state.leases);
  most_.sessions = std::max(most_.sessions, state.sessions);
  most_.completed = std::max(most_.completed, state.completed);
  most_.scheduler_keys = std::max(most_.scheduler_keys, state.scheduler_keys);
}

}  // namespace fettle::fleet::simulation
