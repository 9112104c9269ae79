// A real worker for hand-made candidates, and what it made of them.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <csignal>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "agent/device/registry.h"
#include "agent/server/device_queue.h"
#include "agent/worker/worker_start.h"
#include "tests/support/agent_candidates.h"

namespace fettle::test {

inline constexpr std::uint64_t kMemoryLimit = std::uint64_t{64} << 20;

inline std::string said(const wire::OutcomeT& outcome) {
  const auto* failure = outcome.body.AsFailure();
  if (!failure) return "a measurement";
  return std::string(name_of(failure->stage)) + " " + name_of(failure->error->code) + ": " +
         failure->error->message;
}

// A nursery, a device queue and a worker, driven as the supervisor does it.
class CandidateStation {
 public:
  // before: what each worker does first, in its process.
  explicit CandidateStation(
      const agent::WorkerTerms& terms = {}, const std::function<void()>& before = [] {}) {
    signal(SIGPIPE, SIG_IGN);
    agent::DeviceConfig config;
    config.key = "test";
    config.memory_limit_bytes = kMemoryLimit;
    info_ = agent::find_device_row(wire::DeviceKind::Cpu)->describe(config, agent::SystemRoot());
    auto nursery = agent::Nursery::start(
        [info = info_, terms, before](std::uint32_t, int socket, int status_memory) {
          before();
          return agent::start_worker(info, "", socket, status_memory, terms);
        });
    nursery_ = std::make_unique<agent::Nursery>(std::move(nursery).value());
    answer_ = put(candidate_answer());
    queue_ = std::make_unique<agent::DeviceQueue>(
        info_, *nursery_, blobs_,
        [this](std::uint64_t lease, Bytes bytes) {
          auto outcome = decode_outcome(bytes);
          EXPECT_TRUE(outcome.ok()) << outcome.error().text();
          if (outcome) outcomes_[lease] = std::move(*outcome);
        },
        [](const std::vector<wire::Hash>&) {});
    pump([this] { return queue_->ready() || !queue_->refusal().empty(); });
  }

  template <typename Until>
  bool pump(Until until, int seconds = 20) {
    const std::uint64_t start = agent::StatusPage::monotonic_ns();
    while (!until()) {
      if (agent::StatusPage::monotonic_ns() - start > seconds * std::uint64_t{1'000'000'000}) {
        return false;
      }
      const int wait = std::min(queue_->on_time(), 100);
      pollfd watched[2] = {{nursery_->fd(), POLLIN, 0}, {queue_->fd(), POLLIN, 0}};
      poll(watched, 2, wait);
      if (watched[1].revents) queue_->on_readable();
      auto event = nursery_->next_event();
      if (!event) return false;
      if (*event) queue_->on_event(**event);
    }
    return true;
  }

  std::uint64_t submit(const wire::MeasureRequestT& request, std::uint64_t session = 1) {
    EXPECT_TRUE(queue_->accept(++lease_, session, encode(request)).empty());
    return lease_;
  }
  std::optional<wire::OutcomeT> wait_for(std::uint64_t lease) {
    if (!pump([&] { return outcomes_.count(lease) > 0; })) return std::nullopt;
    return outcomes_[lease];
  }
  wire::OutcomeT measure(CandidateKind kind) {
    auto outcome = wait_for(submit(candidate_request(kind, answer_)));
    EXPECT_TRUE(outcome.has_value()) << "no outcome in time";
    return outcome.value_or(wire::OutcomeT());
  }

  wire::Hash put(const Bytes& blob) {
    const wire::Hash hash = content_hash(blob);
    EXPECT_TRUE(blobs_.put(hash, blob).ok());
    return hash;
  }
  agent::DeviceQueue& queue() { return *queue_; }
  const wire::Hash& answer() const { return answer_; }

 private:
  wire::DeviceInfoT info_;
  std::unique_ptr<agent::Nursery> nursery_;
  agent::BlobStore blobs_{std::uint64_t{16} << 20};
  wire::Hash answer_;
  std::unique_ptr<agent::DeviceQueue> queue_;
  std::map<std::uint64_t, wire::OutcomeT> outcomes_;
  std::uint64_t lease_ = 0;
};

}  // namespace fettle::test
