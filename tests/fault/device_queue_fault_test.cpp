// A device queue against workers that lie to it, and against shortages of the machine:
// every trial ends, and only the one that is to blame ends badly.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <thread>

#include "agent/device/registry.h"
#include "agent/server/device_queue.h"
#include "agent/worker/worker.h"
#include "agent/worker/worker_start.h"

namespace fettle::agent {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

wire::DeviceInfoT cpu_device() {
  DeviceConfig config;
  config.key = "test";
  config.memory_limit_bytes = std::uint64_t{64} << 20;
  return find_device_row(wire::DeviceKind::Cpu)->describe(config, SystemRoot());
}

int real_worker(std::uint32_t, int socket, int status_memory) {
  static const wire::DeviceInfoT info = cpu_device();
  return start_worker(info, "", socket, status_memory);
}

Bytes outcome_reply(std::uint64_t ticket, double median) {
  wire::MeasurementT measured;
  measured.median = median;
  measured.samples.emplace_back(1, 1);
  wire::OutcomeT outcome;
  outcome.body.Set(std::move(measured));
  outcome.times = std::make_unique<wire::StageTimesT>();
  return encode_outcome_reply(ticket, encode(outcome));
}

// The lease of the request, which no worker is told: the test writes it there, too.
std::uint64_t lease_of(const ReceivedRequest& request) {
  return decode_request(request.request)->options->number;
}

// As write_frame does it, for those who write more in one piece.
Bytes framed(const Bytes& reply) {
  Bytes out;
  for (int i = 0; i < 4; ++i) out.push_back(std::uint8_t(reply.size() >> (8 * i)));
  out.insert(out.end(), reply.begin(), reply.end());
  return out;
}

// What a lying worker does with one request after it has said Ready as a true one does.
using Lie = void (*)(const ReceivedRequest& request, int socket, StatusPage* page);
WorkerMain lying_worker(Lie lie) {
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
        [this](std::uint64_t lease, Bytes outcome) { outcomes[lease] = said(outcome); }, limits);
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
        find_device_row(wire::DeviceKind::Cpu)->self_test().program);
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
};

bool begins(const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; }
// The worker had it, whatever a busy machine made of its samples.
bool was_run(const std::string& said) { return begins(said, "median") || begins(said, "Run "); }

// So that a trial whose worker lies ends within a test.
StageLimits short_limits() {
  StageLimits limits;
  limits.load_ns = limits.check_ns = 100 * kMs;
  limits.between_samples_ns = kMs;
  limits.spare_ns = 300 * kMs;
  return limits;
}

// The page is the candidate's to write: what it says there can end its run sooner, never later.
TEST(DeviceQueueFault, APageThatTellsOfNoRunEndsAtTheWholeLimit) {
  Station station(lying_worker([](const ReceivedRequest& request, int, StatusPage* page) {
                    if (lease_of(request) > 2) return;
                    if (lease_of(request) == 2) page->ticket.store(0);  // idle, it says
                    page->run_since.store(~std::uint64_t{0});
                    while (true) pause();
                  }),
                  short_limits());
  for (std::uint64_t lease : {1, 2}) {
    station.submit(lease);
    EXPECT_TRUE(begins(station.wait_for(lease), "Run RunTimeout")) << station.outcomes[lease];
  }
}

TEST(DeviceQueueFault, TheWholeLimitLeavesRoomForEveryStage) {
  wire::MeasureOptionsT options;
  const StageLimits limits;
  const std::uint64_t ordinary = limits.whole_trial_ns(options);
  EXPECT_GE(ordinary, 2 * limits.load_ns + 2 * limits.check_ns + 4000 * kMs + 30'000 * kMs);
  options.timeout_ms += 1000;
  options.cooldown_ms += 500;
  EXPECT_EQ(limits.whole_trial_ns(options), ordinary + 1500 * kMs);
  options.retakes += 10;
  EXPECT_EQ(limits.whole_trial_ns(options), ordinary + 1500 * kMs + 10 * limits.between_samples_ns);
}

// A death that the page blames on nobody is not an endless series of fresh workers.
TEST(DeviceQueueFault, APageThatHidesADeathIsBelievedOnce) {
  Station station(lying_worker([](const ReceivedRequest& request, int socket, StatusPage* page) {
    if (lease_of(request) == 1) {
      page->ticket.store(0);
      _exit(kTaintedExit);
    }
    (void)!write_frame(socket, outcome_reply(request.ticket, 7));
  }));
  station.submit(1);
  station.submit(2);
  EXPECT_TRUE(begins(station.wait_for(1), "Run Crash")) << station.outcomes[1];
  EXPECT_EQ(station.wait_for(2), "median 7");
}

TEST(DeviceQueueFault, AnOutcomeForAnotherTrialEndsTheForger) {
  Station station(lying_worker([](const ReceivedRequest& request, int socket, StatusPage*) {
    if (lease_of(request) == 1) {
      (void)!write_frame(socket, outcome_reply(request.ticket + 1, 1));
      while (true) pause();
    }
    (void)!write_frame(socket, outcome_reply(request.ticket, 7));
  }));
  station.submit(1);
  station.submit(2);
  EXPECT_EQ(station.wait_for(2), "median 7");
  EXPECT_TRUE(begins(station.wait_for(1), "Run SandboxViolation")) << station.outcomes[1];
}

// The next in line does not pay for it.
TEST(DeviceQueueFault, ASecondOutcomeOfATrialIsNotTheNextOnesDoing) {
  Station station(lying_worker([](const ReceivedRequest& request, int socket, StatusPage*) {
    if (lease_of(request) == 1) (void)!write_frame(socket, outcome_reply(request.ticket, 3));
    (void)!write_frame(socket, outcome_reply(request.ticket, 7));
  }));
  station.submit(1);
  station.submit(2);
  EXPECT_EQ(station.wait_for(1), "median 3");
  EXPECT_EQ(station.wait_for(2), "median 7");
}

// Written before the next trial was handed over, it cannot bear its number.
TEST(DeviceQueueFault, AForgedEarlyOutcomeCountsForNothing) {
  Station station(lying_worker([](const ReceivedRequest& request, int socket, StatusPage*) {
    if (lease_of(request) == 1) {
      Bytes both = framed(outcome_reply(request.ticket, 3));
      const Bytes early = framed(outcome_reply(2, 1));
      both.insert(both.end(), early.begin(), early.end());
      (void)!write(socket, both.data(), both.size());
      return;
    }
    (void)!write_frame(socket, outcome_reply(request.ticket, 7));
  }));
  station.submit(1);
  station.submit(2);
  EXPECT_EQ(station.wait_for(1), "median 3");
  EXPECT_EQ(station.wait_for(2), "median 7") << "and its trial is not blamed";
}

// Nor is the beginning of one, which the next true outcome would complete.
TEST(DeviceQueueFault, HalfAForgedOutcomeEndsTheForger) {
  Station station(lying_worker([](const ReceivedRequest& request, int socket, StatusPage*) {
    Bytes written = framed(outcome_reply(request.ticket, lease_of(request) == 1 ? 3 : 7));
    if (lease_of(request) == 1) written.insert(written.end(), {40, 0, 0});
    (void)!write(socket, written.data(), written.size());
  }));
  station.submit(1);
  station.submit(2);
  EXPECT_EQ(station.wait_for(1), "median 3");
  EXPECT_EQ(station.wait_for(2), "median 7");
}

TEST(DeviceQueueFault, AWorkerHasNoTrialButTheOneItIsOn) {
  Station station(lying_worker([](const ReceivedRequest& request, int socket, StatusPage*) {
    std::uint8_t byte;
    usleep(50'000);  // all are in line by now
    const bool ahead = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
    (void)!write_frame(socket, outcome_reply(request.ticket, ahead ? 1 : 7));
  }));
  for (std::uint64_t lease : {1, 2, 3}) station.submit(lease);
  for (std::uint64_t lease : {1, 2, 3}) EXPECT_EQ(station.wait_for(lease), "median 7") << lease;
}

// The worker answers with the order of the trial in its life.
TEST(DeviceQueueFault, AWorkerServesOneSession) {
  Station station(lying_worker([](const ReceivedRequest& request, int socket, StatusPage*) {
    static int served = 0;
    (void)!write_frame(socket, outcome_reply(request.ticket, ++served));
  }));
  // Lease, session and what it says then.
  struct Row {
    std::uint64_t lease, session;
    const char* said;
  };
  const Row rows[] = {{1, 5, "median 1"}, {2, 5, "median 2"}, {3, 6, "median 1"},
                      {4, 5, "median 1"}, {5, 5, "median 2"}, {6, 0, "median 1"},
                      {7, 0, "median 1"}};
  for (const Row& row : rows) station.submit(row.lease, row.session);
  for (const Row& row : rows) EXPECT_EQ(station.wait_for(row.lease), row.said) << row.lease;
}

// What it says of the device is taken, but not which device it is.
TEST(DeviceQueueFault, ReadyCompletesWhatWasDescribed) {
  Station station([](std::uint32_t, int socket, int) {
    wire::DeviceInfoT seen = cpu_device();
    seen.name = "seen from inside";
    seen.gpu = std::make_unique<wire::GpuFactsT>();
    seen.gpu->compute_units = 4;
    seen.aliases = {"everything"};
    seen.queue_depth = 60;
    seen.sandbox = wire::Sandbox::Limits;
    (void)!write_frame(socket, encode_ready(seen, ""));
    return receive_request(socket) ? 1 : 0;
  });
  const wire::DeviceInfoT& info = station.queue->info();
  EXPECT_EQ(info.name, "seen from inside");
  ASSERT_TRUE(info.gpu);
  EXPECT_EQ(info.gpu->compute_units, 4u);
  EXPECT_EQ(info.sandbox, wire::Sandbox::Limits);
  EXPECT_TRUE(info.aliases.empty());
  EXPECT_EQ(info.queue_depth, 2u);
}

TEST(DeviceQueueFault, AWorkerOfAnotherDeviceIsNotBelieved) {
  wire::DeviceInfoT described = cpu_device();
  for (const auto change : {0, 1, 2}) {
    wire::DeviceInfoT seen = cpu_device();
    seen.name = "another";
    if (change == 0) seen.key = "another";
    if (change == 1) seen.index = 1;
    if (change == 2) seen.kind = wire::DeviceKind::Null;
    EXPECT_FALSE(take_facts(described, seen));
    EXPECT_NE(described.name, "another");
  }
}

std::uint64_t peak_memory_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (begins(line, "VmHWM:")) return std::stoull(line.substr(6));
  }
  return 0;
}

// Without end and from several threads, so that the socket never runs dry.
TEST(DeviceQueueFault, AFloodOfRepliesStaysBounded) {
  Station station(lying_worker([](const ReceivedRequest&, int socket, StatusPage*) {
    auto flood = [socket] {
      const std::vector<std::uint8_t> junk(1 << 20, 0x01);
      while (true) (void)!write(socket, junk.data(), junk.size());
    };
    const std::uint8_t head[4] = {0, 0, 0xff, 0};  // of a frame of almost 16 MiB
    (void)!write(socket, head, sizeof head);
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) threads.emplace_back(flood);
    flood();
  }));
  const std::uint64_t before = peak_memory_kib();
  station.submit(1);
  EXPECT_TRUE(begins(station.wait_for(1), "Run SandboxViolation")) << station.outcomes[1];
  EXPECT_LT(peak_memory_kib() - before, 160u << 10) << "KiB; a frame is 16 MiB";
}

// Descriptors short for a moment, as a trial comes in.
class Shortage {
 public:
  Shortage() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{3, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~Shortage() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_;
};

TEST(DeviceQueueFault, APassingShortageOfDescriptorsDelaysATrial) {
  Station station(real_worker);
  {
    Shortage shortage;
    station.submit(1);
  }
  EXPECT_TRUE(was_run(station.wait_for(1))) << station.outcomes[1];
}

TEST(DeviceQueueFault, AShortageThatStaysIsSaid) {
  StageLimits limits;
  limits.blob_ns = 100 * kMs;
  Station station(real_worker, limits);
  {
    Shortage shortage;
    station.submit(1);
    EXPECT_TRUE(begins(station.wait_for(1), "Upload Io")) << station.outcomes[1];
  }
  station.submit(2);
  EXPECT_TRUE(was_run(station.wait_for(2))) << station.outcomes[2];
}

TEST(DeviceQueueFault, BlobsThatTheStoreCannotHoldAreSaidAtOnce) {
  Station station(real_worker, {}, 1000);
  const Bytes large(1001, 1), first(600, 2), second(600, 3);
  const wire::Hash large_hash = content_hash(large);
  EXPECT_EQ(station.queue->accept(1, 1, encode(Station::request({large_hash}))).size(), 1u);
  const auto refused = station.blobs.put(large_hash, large);
  ASSERT_FALSE(refused.ok());
  station.queue->blob_refused(large_hash, refused.error());
  EXPECT_TRUE(begins(station.outcomes[1], "Upload TooLarge")) << station.outcomes[1];

  const wire::Hash hashes[] = {content_hash(first), content_hash(second)};
  EXPECT_EQ(station.queue->accept(2, 1, encode(Station::request({hashes[0], hashes[1]}))).size(),
            2u);
  ASSERT_TRUE(station.blobs.put(hashes[0], first).ok());
  station.queue->blob_arrived(hashes[0], first.size());
  EXPECT_EQ(station.outcomes.count(2), 0u);
  ASSERT_TRUE(station.blobs.put(hashes[1], second).ok());
  station.queue->blob_arrived(hashes[1], second.size());
  EXPECT_TRUE(begins(station.outcomes[2], "Upload TooLarge")) << station.outcomes[2];
}

}  // namespace
}  // namespace fettle::agent
