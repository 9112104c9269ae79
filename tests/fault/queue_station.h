// A device queue with workers of the test's own: true ones, and such as lie to it.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <csignal>
#include <cstring>
#include <map>

#include "agent/device/registry.h"
#include "agent/server/device_queue.h"
#include "agent/worker/worker.h"
#include "agent/worker/worker_start.h"

namespace fettle::agent::doubles {

inline constexpr std::uint64_t kMs = 1'000'000;

inline wire::DeviceInfoT cpu_device() {
  DeviceConfig config;
  config.key = "test";
  config.memory_limit_bytes = std::uint64_t{64} << 20;
  return find_device_row(wire::DeviceKind::Cpu)->describe(config, SystemRoot());
}

inline int real_worker(std::uint32_t, int socket, int status_memory) {
  static const wire::DeviceInfoT info = cpu_device();
  return start_worker(info, "", socket, status_memory);
}

inline Bytes outcome_reply(std::uint64_t ticket, double median) {
  wire::MeasurementT measured;
  measured.median = median;
  measured.samples.emplace_back(1, 1);
  wire::OutcomeT outcome;
  outcome.body.Set(std::move(measured));
  outcome.times = std::make_unique<wire::StageTimesT>();
  return encode_outcome_reply(ticket, encode(outcome));
}

// The lease of the request, which no worker is told: the test writes it there, too.
inline std::uint64_t lease_of(const ReceivedRequest& request) {
  return decode_request(request.request)->options->number;
}

// As write_frame does it, for those who write more in one piece.
inline Bytes framed(const Bytes& reply) {
  Bytes out;
  for (int i = 0; i < 4; ++i) out.push_back(std::uint8_t(reply.size() >> (8 * i)));
  out.insert(out.end(), reply.begin(), reply.end());
  return out;
}

// What a lying worker does with one request after it has said Ready as a true one does.
using Lie = void (*)(const ReceivedRequest& request, int socket, StatusPage* page);
inline WorkerMain lying_worker(Lie lie) {
  return [lie](std::uint32_t, int socket, int status_memory) {
    StatusPage* page = StatusPage::map(status_memory);
    if (!write_frame(socket, encode_ready(cpu_device(), ""))) return 1;
    while (true) {
      auto request = receive_request(socket);
      if (!request) return 0;
      page->enter(WorkerPhase::Run);
      page->ticket.store(request->ticket);
      lie(*request, socket, page);
      page->ticket.store(0);
    }
  };
}

class Station {
 public:
  explicit Station(WorkerMain worker, const StageLimits& limits = {},
                   std::uint64_t blob_bytes = 1 << 20)
      : nursery_(Nursery::start(std::move(worker)).value()), blobs(blob_bytes) {
    signal(SIGPIPE, SIG_IGN);
    const float one = 1;
    Bytes bytes(sizeof one);
    std::memcpy(bytes.data(), &one, sizeof one);
    answer_ = content_hash(bytes);
    EXPECT_TRUE(blobs.put(answer_, bytes).ok());
    queue = std::make_unique<DeviceQueue>(
        cpu_device(), nursery_, blobs,
        [this](std::uint64_t lease, Bytes outcome) { outcomes[lease] = said(outcome); },
        [this](std::vector<wire::Hash> missing) {
          asked_again.insert(asked_again.end(), missing.begin(), missing.end());
        },
        limits);
    EXPECT_TRUE(pump([this] { return queue->ready(); }));
  }

  template <typename Until>
  bool pump(Until until, std::uint64_t most_ms = 20'000) {
    const std::uint64_t start = StatusPage::monotonic_ns();
    while (!until()) {
      if (StatusPage::monotonic_ns() - start > most_ms * kMs) return false;
      pollfd watched[2] = {{nursery_.fd(), POLLIN, 0}, {queue->fd(), POLLIN, 0}};
      poll(watched, 2, std::min(queue->on_time(), 100));
      if (watched[1].revents) queue->on_readable();
      auto event = nursery_.next_event();
      if (!event) return false;
      if (*event) queue->on_event(**event);
    }
    return true;
  }

  wire::MeasureRequestT request() const { return request({answer_}); }
  static wire::MeasureRequestT request(const std::vector<wire::Hash>& expected) {
    wire::MeasureRequestT out;
    out.program = std::make_unique<wire::ProgramT>(
        find_device_row(wire::DeviceKind::Cpu)->self_test({}).program);
    out.options = std::make_unique<wire::MeasureOptionsT>();
    out.options->min_repeat_ms = 1;
    out.options->timeout_ms = 300;
    for (const wire::Hash& hash : expected) {
      out.expected.push_back(std::make_unique<wire::ExpectedOutputT>());
      out.expected.back()->dtype = wire::ScalarType::Float32;
      out.expected.back()->blob = std::make_unique<wire::Hash>(hash);
    }
    return out;
  }
  void submit(std::uint64_t lease, std::uint64_t session = 1) {
    auto told = request();
    told.options->number = static_cast<std::uint32_t>(lease);
    EXPECT_TRUE(queue->accept(lease, session, encode(told)).empty());
  }
  std::string wait_for(std::uint64_t lease) {
    return pump([&] { return outcomes.count(lease) > 0; }) ? outcomes[lease] : "no outcome";
  }

  static std::string said(const Bytes& bytes) {
    auto outcome = decode_outcome(bytes);
    if (!outcome) return outcome.error().text();
    if (const auto* measured = outcome->body.AsMeasurement()) {
      return "median " + std::to_string(static_cast<int>(measured->median));
    }
    const auto* failure = outcome->body.AsFailure();
    return std::string(name_of(failure->stage)) + " " + name_of(failure->error->code) + ": " +
           failure->error->message;
  }

 private:
  Nursery nursery_;
  wire::Hash answer_;

 public:
  BlobStore blobs;
  std::unique_ptr<DeviceQueue> queue;
  std::map<std::uint64_t, std::string> outcomes;
  std::vector<wire::Hash> asked_again;
};

inline bool begins(const std::string& text, const std::string& with) {
  return text.rfind(with, 0) == 0;
}
// The worker had it, whatever a busy machine made of its samples.
inline bool was_run(const std::string& said) {
  return begins(said, "median") || begins(said, "Run ");
}

// So that a trial whose worker lies ends within a test.
inline StageLimits short_limits() {
  StageLimits limits;
  limits.load_ns = limits.check_ns = 100 * kMs;
  limits.between_samples_ns = kMs;
  limits.spare_ns = 300 * kMs;
  return limits;
}

}  // namespace fettle::agent::doubles
