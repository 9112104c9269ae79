// The trials that wait for a device, and what they wait for (device_queue.h).
#include "agent/server/device_queue.h"

#include <algorithm>
#include <utility>

#include "agent/server/log.h"

namespace fettle::agent {
namespace {

constexpr std::uint64_t kRefusedAfterNs = 2'000'000'000;
constexpr int kTimesToAskAgain = 3;  // two devices could go on displacing one another's blobs

wire::OutcomeT failed_outcome(wire::FailureT failure, std::uint32_t device) {
  wire::OutcomeT outcome;
  outcome.body.Set(std::move(failure));
  outcome.times = std::make_unique<wire::StageTimesT>();
  outcome.device_index = device;
  return outcome;
}

}  // namespace

DeviceQueue::DeviceQueue(wire::DeviceInfoT info, Nursery& nursery, BlobStore& blobs, Done done,
                         Wanted wanted, const StageLimits& limits)
    : info_(std::move(info)),
      nursery_(nursery),
      blobs_(blobs),
      done_(std::move(done)),
      wanted_(std::move(wanted)),
      limits_(limits) {
  start_worker();
}

DeviceQueue::~DeviceQueue() = default;

std::vector<std::uint64_t> DeviceQueue::leases() const {
  std::vector<std::uint64_t> out;
  for (const Trial& trial : trials_) {
    if (!trial.released) out.push_back(trial.lease);
  }
  return out;
}

std::vector<wire::Hash> DeviceQueue::accept(std::uint64_t lease, std::uint64_t session,
                                            Bytes request) {
  std::vector<wire::Hash> missing;
  const std::uint64_t now = StatusPage::monotonic_ns();
  Trial trial{lease, session, std::move(request), {}, now, now};
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
    trial.blobs[hash] = {held ? held->bytes : 0, !held};
    if (!held) missing.push_back(hash);
  }
  trials_.push_back(std::move(trial));
  hand_over();
  return missing;
}

void DeviceQueue::release(std::uint64_t lease) {
  for (auto at = trials_.begin(); at != trials_.end(); ++at) {
    if (at->lease != lease) continue;
    if (at->handed())
      abandon(*at);
    else
      trials_.erase(at);
    return;
  }
}

void DeviceQueue::release_all() {
  std::erase_if(trials_, [](const Trial& trial) { return !trial.handed(); });
  for (Trial& trial : trials_) abandon(trial);
}

// A candidate does not outlive the session whose trial it is.
void DeviceQueue::abandon(Trial& in_work) {
  in_work.released = true;
  kill_worker(KillReason::Unwanted, in_work.lease);
}

void DeviceQueue::blob_grew(const wire::Hash& hash) {
  for (Trial& trial : trials_) {
    if (trial.blobs.contains(hash)) trial.wanted_ns = StatusPage::monotonic_ns();
  }
}

void DeviceQueue::blob_arrived(const wire::Hash& hash, std::uint64_t bytes) {
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    Trial& trial = trials_[i];
    const auto at = trial.blobs.find(hash);
    if (trial.handed() || at == trial.blobs.end()) continue;
    at->second = {bytes, false};
    std::uint64_t known = 0;
    for (const auto& [each, blob] : trial.blobs) known += blob.bytes;
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
    if (trials_[i].handed() || !trials_[i].blobs.contains(hash)) continue;
    fail(trials_[i], make_failure(wire::Stage::Upload, error));
    --i;
  }
}

// Gives a worker that has none the next trial: the first whose blobs are here.
void DeviceQueue::hand_over() {
  if (!worker_ || worker_->fd() < 0 || killed_ != KillReason::None || in_work()) return;
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    Trial& trial = trials_[i];
    std::vector<PassedBlob> passed;
    for (const auto& [hash, named] : trial.blobs) {
      if (auto blob = blobs_.find(hash)) passed.push_back(*blob);
    }
    if (passed.size() < trial.blobs.size()) {
      ask_again(trial);
      continue;
    }
    if (served_session_ && (trial.session == 0 || *served_session_ != trial.session)) {
      killed_at_ = StatusPage::monotonic_ns();
      return kill_worker(KillReason::OtherSession, 0);
    }
    const std::uint64_t ticket = draw_ticket();
    auto sent = worker_->send(ticket, trial.request, passed);
    if (!sent && sent.error().code == ErrorCode::Unreachable) return;  // its death is on its way
    const std::uint64_t now = StatusPage::monotonic_ns();
    if (!sent) {
      // Descriptors or memory are short, which may pass: on_time tries again for a while.
      if (trial.refused_ns == 0) {
        trial.refused_ns = now;
        log(LogLevel::Warning, "device '%s': %s", info_.key.c_str(), sent.error().text().c_str());
      }
      if (sent.error().code != ErrorCode::TooLarge && now - trial.refused_ns < limits_.blob_ns) {
        return;
      }
      fail(trial, make_failure(wire::Stage::Upload, std::move(sent).error()));
      --i;
      continue;
    }
    work_since_ = now;
    served_session_ = trial.session;
    trial.refused_ns = 0;
    trial.ticket = ticket;
    std::rotate(trials_.begin(), trials_.begin() + static_cast<std::ptrdiff_t>(i),
                trials_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return;
  }
}

// For blobs that were here when the trial came and had to go for others'.
void DeviceQueue::ask_again(Trial& trial) {
  std::vector<wire::Hash> missing;
  for (auto& [hash, blob] : trial.blobs) {
    if (!blob.asked && !blobs_.holds(hash)) missing.push_back(hash);
  }
  if (missing.empty() || trial.times_asked_again == kTimesToAskAgain) return;
  for (const wire::Hash& hash : missing) trial.blobs[hash].asked = true;
  ++trial.times_asked_again;
  trial.wanted_ns = StatusPage::monotonic_ns();
  wanted_(std::move(missing));
}

std::optional<DeviceQueue::Trial> DeviceQueue::end(std::uint64_t lease) {
  for (auto at = trials_.begin(); at != trials_.end(); ++at) {
    if (at->lease != lease) continue;
    Trial trial = std::move(*at);
    trials_.erase(at);
    return trial;
  }
  return std::nullopt;
}

void DeviceQueue::fail(Trial& trial, wire::FailureT failure) {
  log(LogLevel::Debug, "device '%s': %s: %s", info_.key.c_str(), name_of(failure.error->code),
      failure.error->message.c_str());
  const auto ended = end(trial.lease);
  if (!ended->released) {
    done_(ended->lease, encode(failed_outcome(std::move(failure), info_.index)));
  }
}

void DeviceQueue::fail_all(ErrorCode code, const std::string& why) {
  while (!trials_.empty()) fail(trials_.front(), make_failure(wire::Stage::Load, {code, why}));
}

// No fault of theirs: a session ends that meets nothing else. Not at once, or one such device takes
// and loses more trials than all boards that work can answer.
void DeviceQueue::refuse_late(std::uint64_t now) {
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    if (now - trials_[i].came_ns < kRefusedAfterNs) continue;
    fail(trials_[i], make_failure(wire::Stage::Load, {ErrorCode::DeviceLost,
                                                      "the device cannot be opened: " + refusal_}));
    --i;
  }
}

DeviceQueue::Trial* DeviceQueue::in_work() {
  return trials_.empty() || !trials_.front().handed() ? nullptr : &trials_.front();
}

void DeviceQueue::fail_those_without_blobs(std::uint64_t now) {
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    const Trial& trial = trials_[i];
    if (trial.handed() || now - trial.wanted_ns < limits_.blob_ns) continue;
    const auto lacking = std::ranges::find_if(trial.blobs, [&](const auto& named) {
      const bool given_up = named.second.asked || trial.times_asked_again == kTimesToAskAgain;
      return given_up && !blobs_.holds(named.first);
    });
    if (lacking == trial.blobs.end()) continue;
    const std::string hash = to_hex(lacking->first).substr(0, 16);
    fail(trials_[i], make_failure(wire::Stage::Upload,
                                  {ErrorCode::MissingBlob, "blob " + hash + " did not arrive"}));
    --i;
  }
}

}  // namespace fettle::agent
