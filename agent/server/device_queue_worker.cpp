// The worker of a device queue: its start, what it says, its deadlines and its end
// (device_queue.h).
#include <sys/wait.h>
#include <algorithm>
#include <cstring>
#include <utility>

#include "agent/device/registry.h"
#include "agent/server/device_queue.h"
#include "agent/server/log.h"
#include "agent/worker/worker.h"

namespace fettle::agent {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kSecondsBetweenLooks = 600;  // for what is not here: a look takes a core

}  // namespace

void DeviceQueue::start_worker() {
  restart_at_ = 0;
  killed_ = KillReason::None;
  worker_ready_ = false;
  served_session_.reset();
  last_ticket_ = 0;
  ending_since_ = 0;
  stays_ = false;
  auto started = WorkerProcess::start(nursery_, info_.index);
  if (!started) {
    log(LogLevel::Error, "%s", started.error().text().c_str());
    restart_at_ = StatusPage::monotonic_ns() + kSecondNs;
    return;
  }
  worker_ = std::move(*started);
  started_at_ = StatusPage::monotonic_ns();
  hand_over();  // the socket holds it until the worker is ready
}

void DeviceQueue::kill_worker(KillReason reason, std::uint64_t lease) {
  if (killed_ != KillReason::None) return;
  killed_ = reason;
  killed_lease_ = lease;
  ending_since_ = StatusPage::monotonic_ns();
  worker_->kill();
}

// Takes one reply. At one that no worker of ours sends now, since a candidate wrote it, it
// ends the worker and returns false.
bool DeviceQueue::take(Result<Reply> reply, std::optional<Finished>& finished) {
  Trial* trial = in_work();
  const auto forged = [&](std::uint64_t lease) {
    kill_worker(KillReason::ForgedReply, lease);
    return false;
  };
  if (!reply) return forged(trial ? trial->lease : 0);
  if (!worker_ready_) return take_first(*reply) || forged(0);
  if (reply->kind != ReplyKind::Outcome) return forged(trial ? trial->lease : 0);
  if (!trial || reply->ticket != trial->ticket) {
    // With none in work, or a second outcome of the trial before: no doing of this one.
    return forged(!trial || reply->ticket == last_ticket_ ? 0 : trial->lease);
  }
  early_deaths_ = 0;
  last_ticket_ = trial->ticket;
  auto ended = end(trial->lease);
  finished = Finished{ended->released ? 0 : ended->lease, std::move(reply->outcome)};
  return true;
}

// The worker's first word: what the device is, seen from where it can be touched, or that it
// cannot be opened.
bool DeviceQueue::take_first(const Reply& reply) {
  if (reply.kind == ReplyKind::Refusal) {
    // Said once: it is tried again and again.
    if (reply.note != refusal_) {
      log(LogLevel::Error, "device '%s': %s", info_.key.c_str(), reply.note.c_str());
    }
    refusal_ = reply.note;
    return true;
  }
  if (reply.kind != ReplyKind::Ready || !take_facts(info_, reply.info)) return false;
  ready_ = worker_ready_ = true;
  // What it could not open before says nothing of what it does from now on.
  if (!refusal_.empty()) early_deaths_ = 0;
  refusal_.clear();
  const std::uint64_t now = StatusPage::monotonic_ns();
  work_since_ = now;
  log(LogLevel::Debug, "device '%s': worker ready, sandbox %s%s%s", info_.key.c_str(),
      wire::EnumNameSandbox(info_.sandbox), reply.note.empty() ? "" : ": ", reply.note.c_str());
  if (killed_at_ != 0) {
    log(LogLevel::Debug, "device '%s': a fresh worker for another session took %llu us",
        info_.key.c_str(), static_cast<unsigned long long>((now - killed_at_) / 1000));
    killed_at_ = 0;
  }
  return true;
}

// What the worker has said since; an outcome, if the trial in work has ended.
std::optional<DeviceQueue::Finished> DeviceQueue::read_worker() {
  std::optional<Finished> finished;
  const bool more =
      worker_->read([&](Result<Reply> reply) { return take(std::move(reply), finished); });
  // Behind an outcome nothing may follow before the next trial is handed over.
  if (finished && worker_->holds_part()) kill_worker(KillReason::ForgedReply, 0);
  if (!more) {
    worker_->close();
    // One that dies is not changed by it; a candidate that closed its channel and lives on ends.
    // The nursery will say how.
    if (ending_since_ == 0) ending_since_ = StatusPage::monotonic_ns();
    worker_->kill();
  }
  return finished;
}

void DeviceQueue::on_readable() {
  if (!worker_) return;
  auto finished = read_worker();
  hand_over();  // first: a worker without a trial is time lost
  if (finished && finished->lease != 0) done_(finished->lease, std::move(finished->outcome));
}

bool DeviceQueue::on_event(const NurseryEvent& event) {
  if (!worker_ || event.serial != worker_->serial()) return false;
  if (event.kind == NurseryEvent::Kind::Started) {
    pid_ = event.pid;
    return true;
  }
  if (event.kind == NurseryEvent::Kind::Failed)
    log(LogLevel::Error, "cannot start a worker: %s", std::strerror(event.wait_status));
  worker_died(event.kind == NurseryEvent::Kind::Exited ? event.wait_status : 0);
  return true;
}

void DeviceQueue::worker_died(int wait_status) {
  // Outcomes sent before the death count.
  if (auto finished = read_worker(); finished && finished->lease != 0) {
    done_(finished->lease, std::move(finished->outcome));
  }
  const std::unique_ptr<WorkerProcess> dead = std::move(worker_);
  pid_ = 0;
  Trial* trial = in_work();
  bool blamed = false;
  if (trial && killed_ != KillReason::None) {
    blamed = trial->lease == killed_lease_;
  } else if (trial && worker_ready_) {
    // That the worker was on no trial yet, or no longer, is believed once: a candidate can write
    // the page.
    blamed = trial->ticket == dead->page().ticket.load() || trial->hidden_death;
    trial->hidden_death = true;
  }
  if (blamed) {
    early_deaths_ = 0;
    fail(*trial, read_death_note(dead->page(), wait_status, killed_, trial->run_limit_ns));
  }
  for (Trial& rest : trials_) rest.ticket = 0;  // no worker has any
  const bool tainted = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == kTaintedExit;
  if (!blamed && !tainted && killed_ != KillReason::OtherSession) {
    ++early_deaths_;
    if (refusal_.empty()) {
      log(LogLevel::Warning, "device '%s': the worker died %s (wait status %d)", info_.key.c_str(),
          worker_ready_ ? "outside of any trial" : "before it was ready", wait_status);
    }
  }
  // A worker that cannot live must not keep the queue for ever, nor burn the board.
  if (!refusal_.empty() && early_deaths_ >= 2) {
    ready_ = false;  // the broker hears of it where there are others
  } else if (early_deaths_ >= 5) {
    fail_all(ErrorCode::WorkerLost,
             "the device's worker dies as soon as it starts; see the agent's log");
  }
  if (early_deaths_ < 2) {
    start_worker();
  } else {
    const std::uint64_t most = refusal_.empty() ? 30 : kSecondsBetweenLooks;
    const std::uint64_t wait = std::min(std::uint64_t{1} << std::min(early_deaths_ - 2, 20u), most);
    log(refusal_.empty() ? LogLevel::Warning : LogLevel::Debug,
        "device '%s': next start of its worker in %llu s", info_.key.c_str(),
        static_cast<unsigned long long>(wait));
    restart_at_ = StatusPage::monotonic_ns() + wait * kSecondNs;
  }
}

KillReason DeviceQueue::overdue(std::uint64_t now) {
  const Trial* trial = in_work();
  if (!trial || !worker_ready_) return KillReason::None;
  if (now - work_since_ > trial->whole_limit_ns) return KillReason::TrialTimeout;
  if (worker_->page().ticket.load() != trial->ticket) return KillReason::None;
  const std::uint64_t before = worker_->page().run_ns.load(std::memory_order_acquire);
  const std::uint64_t since = worker_->page().run_since.load(std::memory_order_acquire);
  const WorkerPhase phase = worker_->page().phase.load(std::memory_order_acquire);
  if (since != 0) {
    const std::uint64_t running = now > since ? now - since : 0;
    const bool late = before + running > trial->run_limit_ns;
    return late ? KillReason::RunTimeout : KillReason::None;
  }
  const std::uint64_t entered = worker_->page().phase_since.load();
  const std::uint64_t in_phase = now > entered ? now - entered : 0;
  if (phase == WorkerPhase::Load && in_phase > limits_.load_ns) return KillReason::LoadTimeout;
  if (phase == WorkerPhase::Check && in_phase > limits_.check_ns) return KillReason::CheckTimeout;
  return KillReason::None;
}

// A driver can hold a process that was killed. Nothing runs on its device until it lets go.
void DeviceQueue::give_up_a_worker_that_stays(std::uint64_t now) {
  if (ending_since_ == 0 || now - ending_since_ < limits_.end_ns) return;
  if (!std::exchange(stays_, true)) {
    log(LogLevel::Error,
        "device '%s': its worker (process %d) was killed %llu s ago and does not end",
        info_.key.c_str(), pid_, static_cast<unsigned long long>(limits_.end_ns / kSecondNs));
  }
  Trial* trial = in_work();
  if (trial && killed_ != KillReason::None && trial->lease == killed_lease_) {
    fail(*trial, read_death_note(worker_->page(), 0, killed_, trial->run_limit_ns));
  }
  fail_all(ErrorCode::WorkerLost,
           "the device's worker was killed and does not end: its driver holds it");
}

int DeviceQueue::on_time() {
  const std::uint64_t now = StatusPage::monotonic_ns();
  fail_those_without_blobs(now);
  if (!worker_) {
    if (!refusal_.empty() && early_deaths_ >= 2) refuse_late(now);
    if (restart_at_ != 0 && now >= restart_at_) start_worker();
    return 200;
  }
  const bool refused = std::any_of(trials_.begin(), trials_.end(),
                                   [](const Trial& trial) { return trial.refused_ns != 0; });
  if (refused) hand_over();
  give_up_a_worker_that_stays(now);
  if (killed_ == KillReason::None && !worker_ready_ && now - started_at_ > limits_.open_ns) {
    log(LogLevel::Warning, "device '%s': its worker was not ready after %llu s", info_.key.c_str(),
        static_cast<unsigned long long>(limits_.open_ns / kSecondNs));
    kill_worker(KillReason::NeverReady, 0);
  }
  if (killed_ == KillReason::None) {
    const KillReason reason = overdue(StatusPage::monotonic_ns());
    if (reason != KillReason::None) kill_worker(reason, in_work()->lease);
  }
  if (trials_.empty()) return 1000;
  const Trial* trial = in_work();
  if (refused || !trial || worker_->page().ticket.load() != trial->ticket) return 50;
  // No run can be over its limit sooner than what is left of it from now on.
  const std::uint64_t since = worker_->page().run_since.load();
  const std::uint64_t used =
      worker_->page().run_ns.load() + (since && now > since ? now - since : 0);
  const std::uint64_t left_ms =
      trial->run_limit_ns > used ? (trial->run_limit_ns - used) / 1'000'000 : 0;
  return static_cast<int>(std::min<std::uint64_t>(left_ms + 1, 1000));
}

}  // namespace fettle::agent
