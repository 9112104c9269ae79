// A device queue against workers that lie to it: every trial ends, and only the one that is
// to blame ends badly.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/fault/queue_station.h"

namespace fettle::agent {
namespace {

using namespace doubles;

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
  EXPECT_GE(ordinary, 2 * limits.load_ns + 3 * limits.check_ns + 2 * 4000 * kMs + 30'000 * kMs);
  options.timeout_ms += 1000;
  options.cooldown_ms += 500;
  EXPECT_EQ(limits.whole_trial_ns(options), ordinary + 2500 * kMs);
  options.retakes += 10;
  EXPECT_EQ(limits.whole_trial_ns(options), ordinary + 2500 * kMs + 10 * limits.between_samples_ns);
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

// Else it would hold the device, without a deadline, until the agent ends.
TEST(DeviceQueueFault, AWorkerThatClosesItsChannelBehindAnOutcomeIsReplaced) {
  Station station(lying_worker([](const ReceivedRequest& request, int socket, StatusPage*) {
    (void)!write_frame(socket, outcome_reply(request.ticket, 7));
    if (lease_of(request) != 1) return;
    close(socket);
    while (true) pause();
  }));
  station.submit(1);
  station.submit(2);
  EXPECT_EQ(station.wait_for(1), "median 7");
  EXPECT_EQ(station.wait_for(2), "median 7");
  station.submit(3, 2);
  EXPECT_EQ(station.wait_for(3), "median 7");
}

TEST(DeviceQueueFault, AWorkerThatClosesItsChannelWithinATrialEndsIt) {
  Station station(lying_worker([](const ReceivedRequest& request, int socket, StatusPage*) {
    if (lease_of(request) == 1) {
      close(socket);
      while (true) pause();
    }
    (void)!write_frame(socket, outcome_reply(request.ticket, 7));
  }));
  station.submit(1);
  station.submit(2);
  EXPECT_TRUE(begins(station.wait_for(1), "Run WorkerLost")) << station.outcomes[1];
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

}  // namespace
}  // namespace fettle::agent
