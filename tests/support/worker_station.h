// A nursery with the queues of its devices, driven as the supervisor does it.
#pragma once

#include <poll.h>
#include <algorithm>
#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/server/device_queue.h"

namespace fettle::test {

class WorkerStation {
 public:
  // devices[i].index is i, as the worker is told.
  WorkerStation(agent::WorkerMain worker, std::vector<wire::DeviceInfoT> devices,
                const StageLimits& limits = {})
      : nursery_(agent::Nursery::start(std::move(worker)).value()) {
    signal(SIGPIPE, SIG_IGN);
    for (wire::DeviceInfoT& info : devices) {
      queues.push_back(std::make_unique<agent::DeviceQueue>(
          std::move(info), nursery_, blobs_,
          [this](std::uint64_t lease, Bytes bytes) {
            auto outcome = decode_outcome(bytes);
            if (outcome) outcomes_[lease] = std::move(*outcome);
          },
          [](const std::vector<wire::Hash>&) {}, limits));
    }
  }

  // The bound ends a test that hangs; ASan makes what the worker does many times as long.
  template <typename Until>
  bool pump(Until until, std::uint64_t seconds = 60) {
    const std::uint64_t start = agent::StatusPage::monotonic_ns();
    while (!until()) {
      if (agent::StatusPage::monotonic_ns() - start > seconds * 1'000'000'000) return false;
      std::vector<pollfd> watched = {{nursery_.fd(), POLLIN, 0}};
      int wait = 100;
      for (auto& queue : queues) {
        wait = std::min(wait, queue->on_time());
        watched.push_back({queue->fd(), POLLIN, 0});
      }
      poll(watched.data(), watched.size(), wait);
      for (std::size_t i = 0; i < queues.size(); ++i) {
        if (watched[1 + i].revents) queues[i]->on_readable();
      }
      auto event = nursery_.next_event();
      if (!event) return false;
      for (auto& queue : queues) {
        if (*event) queue->on_event(**event);
      }
    }
    return true;
  }

  wire::Hash put(const Bytes& blob) {
    const wire::Hash hash = content_hash(blob);
    (void)!blobs_.put(hash, blob);
    return hash;
  }
  std::uint64_t submit(const wire::MeasureRequestT& request, std::size_t device = 0) {
    (void)queues[device]->accept(++lease_, 1, encode(request));
    return lease_;
  }
  // Without a body: none came in time.
  wire::OutcomeT wait_for(std::uint64_t lease) {
    pump([&] { return outcomes_.count(lease) > 0; });
    return outcomes_[lease];
  }
  // "measured", or what failed. Samples that a busy machine disturbed are no matter of a worker's:
  // the program was run and answered right.
  static std::string said(const wire::OutcomeT& outcome) {
    if (outcome.body.AsMeasurement()) return "measured";
    const auto* failure = outcome.body.AsFailure();
    if (!failure) return "no outcome";
    if (failure->error->code == ErrorCode::Disturbed) return "measured";
    return std::string(name_of(failure->stage)) + " " + name_of(failure->error->code) + ": " +
           failure->error->message;
  }

 private:
  agent::Nursery nursery_;
  agent::BlobStore blobs_{std::uint64_t{64} << 20};
  std::map<std::uint64_t, wire::OutcomeT> outcomes_;
  std::uint64_t lease_ = 0;

 public:
  std::vector<std::unique_ptr<agent::DeviceQueue>> queues;
};

}  // namespace fettle::test
