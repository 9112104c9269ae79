// Device queue and worker supervision (device_queue.h).
#include "agent/server/device_queue.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent/server/log.h"
#include "agent/worker/worker.h"
#include "schemas/wire/limits.h"

namespace fettle::agent {
namespace {

constexpr std::size_t kHandedMost = 2;
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::size_t kReplyBytes = std::size_t{16} << 20;

wire::OutcomeT failed_outcome(wire::FailureT failure, std::uint32_t device) {
  wire::OutcomeT outcome;
  outcome.body.Set(std::move(failure));
  outcome.times = std::make_unique<wire::StageTimesT>();
  outcome.device_index = device;
  return outcome;
}

}  // namespace

std::uint64_t StageLimits::whole_trial_ns(const wire::MeasureOptionsT& options) const {
  constexpr std::uint64_t kMs = 1'000'000, kCalibrations = 10;
  const std::uint64_t samples = std::uint64_t{options.repeat} + options.retakes + kCalibrations;
  // A stage of each kind comes twice: decoding and loading, a check before and after the samples.
  return 2 * load_ns + 2 * check_ns +
         (std::uint64_t{options.timeout_ms} + options.cooldown_ms) * kMs +
         samples * between_samples_ns + spare_ns;
}

DeviceQueue::DeviceQueue(wire::DeviceInfoT info, Nursery& nursery, BlobStore& blobs, Done done,
                         const StageLimits& limits)
    : info_(std::move(info)),
      nursery_(nursery),
      blobs_(blobs),
      done_(std::move(done)),
      limits_(limits) {
  start_worker();
}

DeviceQueue::~DeviceQueue() {
  if (serial_ != 0) nursery_.kill_worker(serial_);
  if (status_) munmap(status_, sizeof(StatusPage));
}

std::vector<std::uint64_t> DeviceQueue::leases() const {
  std::vector<std::uint64_t> out;
  for (const Trial& trial : trials_) {
    if (!trial.released) out.push_back(trial.lease);
  }
  return out;
}

void DeviceQueue::start_worker() {
  static std::uint64_t last_serial = 0;
  restart_at_ = 0;
  killed_ = KillReason::None;
  worker_ready_ = false;
  last_finished_ = 0;
  received_.clear();
  if (status_) munmap(status_, sizeof(StatusPage));
  status_ = nullptr;
  int ends[2];
  OwnedFd memory(static_cast<int>(syscall(__NR_memfd_create, "fettle-status", MFD_CLOEXEC)));
  if (!memory || ftruncate(memory.get(), sizeof(StatusPage)) != 0 ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    log(LogLevel::Error, "cannot make a worker's channel: %s", std::strerror(errno));
    restart_at_ = StatusPage::monotonic_ns() + kSecond;
    return;
  }
  socket_ = OwnedFd(ends[0]);
  const OwnedFd theirs(ends[1]);
  status_memory_ = std::move(memory);
  void* page = mmap(nullptr, sizeof(StatusPage), PROT_READ | PROT_WRITE, MAP_SHARED,
                    status_memory_.get(), 0);
  if (page == MAP_FAILED) {
    restart_at_ = StatusPage::monotonic_ns() + kSecond;
    return;
  }
  status_ = static_cast<StatusPage*>(page);
  serial_ = ++last_serial;
  const auto started =
      nursery_.start_worker(serial_, info_.index, theirs.get(), status_memory_.get());
  if (!started) {
    serial_ = 0;
    restart_at_ = StatusPage::monotonic_ns() + kSecond;
    return;
  }
  for (Trial& trial : trials_) trial.handed = false;
  hand_over();  // the socket holds them until the worker is ready
}

std::vector<wire::Hash> DeviceQueue::accept(std::uint64_t lease, Bytes request) {
  std::vector<wire::Hash> missing;
  Trial trial{lease, std::move(request), {}, StatusPage::monotonic_ns()};
  auto decoded = decode_request(trial.request);
  if (!decoded) {
    trials_.push_back(std::move(trial));
    fail(trials_.back(), make_failure(wire::Stage::Dispatch, std::move(decoded).error()));
    return missing;
  }
  trial.run_limit_ns = std::uint64_t{decoded->options->timeout_ms} * 1'000'000;
  trial.whole_limit_ns = limits_.whole_trial_ns(*decoded->options);
  for (const wire::Hash& hash : named_blobs(*decoded)) {
    const auto held = blobs_.find(hash);
    trial.blobs[hash] = held ? held->bytes : 0;
    if (!held) missing.push_back(hash);
  }
  trials_.push_back(std::move(trial));
  hand_over();
  return missing;
}

void DeviceQueue::release(std::uint64_t lease) {
  for (auto at = trials_.begin(); at != trials_.end(); ++at) {
    if (at->lease != lease) continue;
    if (at->handed)
      at->released = true;
    else
      trials_.erase(at);
    return;
  }
}

void DeviceQueue::release_all() {
  std::erase_if(trials_, [](const Trial& trial) { return !trial.handed; });
  for (Trial& trial : trials_) trial.released = true;
}

void DeviceQueue::blob_arrived(const wire::Hash& hash, std::uint64_t bytes) {
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    Trial& trial = trials_[i];
    const auto at = trial.blobs.find(hash);
    if (trial.handed || at == trial.blobs.end()) continue;
    at->second = bytes;
    std::uint64_t known = 0;
    for (const auto& [each, size] : trial.blobs) known += size;
    if (known <= blobs_.limit_bytes()) continue;
    fail(trial, make_failure(wire::Stage::Upload,
                             {ErrorCode::TooLarge,
                              "the request's blobs together are over the bound of " +
                                  std::to_string(blobs_.limit_bytes()) + " (--blob-cache)"}));
    --i;
  }
  hand_over();
}

void DeviceQueue::blob_refused(const wire::Hash& hash, const Error& error) {
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    if (trials_[i].handed || !trials_[i].blobs.contains(hash)) continue;
    fail(trials_[i], make_failure(wire::Stage::Upload, error));
    --i;
  }
}

// Gives the worker what it may have: in order, except that a trial which waits for
// blobs does not hold up those behind it.
void DeviceQueue::hand_over() {
  if (serial_ == 0 || !socket_) return;
  std::size_t handed = 0;
  for (const Trial& trial : trials_) handed += trial.handed ? 1 : 0;
  for (std::size_t i = handed; i < trials_.size() && handed < kHandedMost; ++i) {
    std::vector<PassedBlob> passed;
    for (const auto& [hash, bytes] : trials_[i].blobs) {
      if (auto blob = blobs_.find(hash)) passed.push_back(*blob);
    }
    if (passed.size() < trials_[i].blobs.size()) continue;
    auto sent = send_request(socket_.get(), trials_[i].lease, trials_[i].request, passed);
    if (!sent && sent.error().code == ErrorCode::Unreachable) return;  // its death is on its way
    if (!sent) {
      // Descriptors or memory are short, which may pass: on_time tries again for a while.
      const std::uint64_t now = StatusPage::monotonic_ns();
      std::uint64_t& since = trials_[i].refused_ns;
      if (since == 0) {
        since = now;
        log(LogLevel::Warning, "device '%s': %s", info_.key.c_str(), sent.error().text().c_str());
      }
      if (sent.error().code != ErrorCode::TooLarge && now - since < limits_.blob_ns) return;
      fail(trials_[i], make_failure(wire::Stage::Upload, std::move(sent).error()));
      --i;
      continue;
    }
    if (handed == 0) first_since_ = StatusPage::monotonic_ns();
    trials_[i].refused_ns = 0;
    trials_[i].handed = true;
    std::rotate(trials_.begin() + static_cast<std::ptrdiff_t>(handed),
                trials_.begin() + static_cast<std::ptrdiff_t>(i),
                trials_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    ++handed;
  }
}

void DeviceQueue::finish(std::uint64_t lease, Bytes outcome) {
  for (auto at = trials_.begin(); at != trials_.end(); ++at) {
    if (at->lease != lease) continue;
    const bool wanted = !at->released;
    if (at == trials_.begin()) first_since_ = StatusPage::monotonic_ns();
    trials_.erase(at);
    if (wanted) done_(lease, std::move(outcome));
    return;
  }
}

void DeviceQueue::fail(Trial& trial, wire::FailureT failure) {
  const std::uint64_t lease = trial.lease;
  log(LogLevel::Debug, "device '%s': %s: %s", info_.key.c_str(), name_of(failure.error->code),
      failure.error->message.c_str());
  finish(lease, encode(failed_outcome(std::move(failure), info_.index)));
}

DeviceQueue::Trial* DeviceQueue::in_work() {
  return trials_.empty() || !trials_.front().handed ? nullptr : &trials_.front();
}

void DeviceQueue::kill_worker(KillReason reason, std::uint64_t lease) {
  if (killed_ != KillReason::None) return;
  killed_ = reason;
  killed_lease_ = lease;
  nursery_.kill_worker(serial_);
}

// What the worker has sent, as far as one call may hold up the others; false at the end of it.
bool DeviceQueue::drain() {
  std::uint8_t piece[65536];
  for (std::size_t taken = 0; socket_ && taken < kReplyBytes;) {
    const ssize_t n = recv(socket_.get(), piece, sizeof piece, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n <= 0) return false;
    taken += static_cast<std::size_t>(n);
    received_.insert(received_.end(), piece, piece + n);
    if (!take_frames()) return false;
  }
  return true;
}

// Takes the complete frames out of received_. At one that no worker of ours sends there, since
// a candidate wrote it, it ends the worker and returns false.
bool DeviceQueue::take_frames() {
  const auto forged = [this](std::uint64_t lease) {
    kill_worker(KillReason::ForgedReply, lease);
    return false;
  };
  std::size_t at = 0;
  while (received_.size() - at >= 4) {
    const Trial* trial = in_work();
    const std::uint64_t lease = trial ? trial->lease : 0;
    std::size_t size = 0;
    for (int i = 0; i < 4; ++i) size |= std::size_t{received_[at + i]} << (8 * i);
    if (size > kReplyBytes) return forged(lease);
    if (received_.size() - at - 4 < size) break;
    auto reply = decode_reply(ByteView(received_).subspan(at + 4, size));
    at += 4 + size;
    if (!reply || (reply->kind == ReplyKind::Ready) == worker_ready_) return forged(lease);
    if (reply->kind == ReplyKind::Ready) {
      ready_ = worker_ready_ = true;
      first_since_ = StatusPage::monotonic_ns();
      info_.sandbox = reply->level;
      log(LogLevel::Debug, "device '%s': worker ready, sandbox %s%s%s", info_.key.c_str(),
          wire::EnumNameSandbox(reply->level), reply->note.empty() ? "" : ": ",
          reply->note.c_str());
    } else if (lease != 0 && reply->lease == lease) {
      early_deaths_ = 0;
      last_finished_ = lease;
      finish(lease, std::move(reply->outcome));
    } else {
      // A second outcome of the trial before is no doing of the one in work.
      return forged(reply->lease == last_finished_ ? 0 : lease);
    }
  }
  received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

void DeviceQueue::on_readable() {
  if (!drain()) socket_ = OwnedFd();  // the nursery will say how it ended
  hand_over();
}

bool DeviceQueue::on_event(const NurseryEvent& event) {
  if (event.serial != serial_ || serial_ == 0) return false;
  if (event.kind == NurseryEvent::Kind::Started) {
    pid_ = event.pid;
    return true;
  }
  if (event.kind == NurseryEvent::Kind::Failed) {
    log(LogLevel::Error, "cannot start a worker: %s", std::strerror(event.wait_status));
  }
  worker_died(event.kind == NurseryEvent::Kind::Exited ? event.wait_status : 0);
  return true;
}

void DeviceQueue::worker_died(int wait_status) {
  drain();  // outcomes sent before the death count
  serial_ = 0;
  pid_ = 0;
  socket_ = OwnedFd();
  Trial* trial = in_work();
  bool blamed = false;
  if (trial && killed_ != KillReason::None) {
    blamed = trial->lease == killed_lease_;
  } else if (trial && worker_ready_) {
    // That the worker was on no trial yet, or no longer, is believed once: a candidate can write
    // the page.
    blamed = trial->lease == status_->lease.load() || trial->hidden_death;
    trial->hidden_death = true;
  }
  if (blamed) {
    early_deaths_ = 0;
    fail(*trial, read_death_note(*status_, wait_status, killed_, trial->run_limit_ns));
  }
  const bool tainted = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == kTaintedExit;
  if (!blamed && !tainted) {
    ++early_deaths_;
    log(LogLevel::Warning, "device '%s': the worker died outside of any trial (wait status %d)",
        info_.key.c_str(), wait_status);
  }
  // A worker that cannot live must not keep the queue for ever, nor burn the board.
  if (early_deaths_ >= 5) {
    while (!trials_.empty()) {
      fail(trials_.front(), make_failure(wire::Stage::Load, {ErrorCode::WorkerLost,
                                                             "the device's worker dies as soon "
                                                             "as it starts; see the agent's log"}));
    }
  }
  if (early_deaths_ < 2) {
    start_worker();
  } else {
    const std::uint64_t wait = std::min<std::uint64_t>(std::uint64_t{1} << (early_deaths_ - 2), 30);
    log(LogLevel::Warning, "device '%s': next start of its worker in %llu s", info_.key.c_str(),
        static_cast<unsigned long long>(wait));
    restart_at_ = StatusPage::monotonic_ns() + wait * kSecond;
  }
}

KillReason DeviceQueue::overdue(std::uint64_t now) {
  const Trial* trial = in_work();
  if (!trial || !worker_ready_) return KillReason::None;
  if (now - first_since_ > trial->whole_limit_ns) return KillReason::TrialTimeout;
  if (status_->lease.load() != trial->lease) return KillReason::None;
  const std::uint64_t since = status_->run_since.load(std::memory_order_acquire);
  const WorkerPhase phase = status_->phase.load(std::memory_order_acquire);
  if (since != 0) {
    const std::uint64_t running = now > since ? now - since : 0;
    const bool late = status_->run_ns.load() + running > trial->run_limit_ns;
    return late ? KillReason::RunTimeout : KillReason::None;
  }
  const std::uint64_t entered = status_->phase_since.load();
  const std::uint64_t in_phase = now > entered ? now - entered : 0;
  if (phase == WorkerPhase::Load && in_phase > limits_.load_ns) return KillReason::LoadTimeout;
  if (phase == WorkerPhase::Check && in_phase > limits_.check_ns) return KillReason::CheckTimeout;
  return KillReason::None;
}

int DeviceQueue::on_time() {
  const std::uint64_t now = StatusPage::monotonic_ns();
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    if (trials_[i].handed || now - trials_[i].accepted_ns < limits_.blob_ns) continue;
    for (const auto& [hash, bytes] : trials_[i].blobs) {
      if (blobs_.holds(hash)) continue;
      fail(trials_[i], make_failure(wire::Stage::Upload,
                                    {ErrorCode::MissingBlob,
                                     "blob " + to_hex(hash).substr(0, 16) + " did not arrive"}));
      --i;
      break;
    }
  }
  if (serial_ == 0) {
    if (restart_at_ != 0 && now >= restart_at_) start_worker();
    return 200;
  }
  const bool refused = std::any_of(trials_.begin(), trials_.end(),
                                   [](const Trial& trial) { return trial.refused_ns != 0; });
  if (refused) hand_over();
  if (killed_ == KillReason::None) {
    const KillReason reason = overdue(StatusPage::monotonic_ns());
    if (reason != KillReason::None) kill_worker(reason, in_work()->lease);
  }
  if (trials_.empty()) return 1000;
  const Trial* trial = in_work();
  if (refused || !trial || status_->lease.load() != trial->lease) return 50;
  // No run can be over its limit sooner than what is left of it from now on.
  const std::uint64_t since = status_->run_since.load();
  const std::uint64_t used = status_->run_ns.load() + (since && now > since ? now - since : 0);
  const std::uint64_t left_ms =
      trial->run_limit_ns > used ? (trial->run_limit_ns - used) / 1'000'000 : 0;
  return static_cast<int>(std::min<std::uint64_t>(left_ms + 1, 1000));
}

}  // namespace fettle::agent
