// A device queue when memory, descriptors or room for blobs are short: bounded, and said.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <fstream>
#include <thread>

#include "tests/fault/queue_station.h"

namespace fettle::agent {
namespace {

using namespace doubles;

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

// Several devices share the store.
TEST(DeviceQueueFault, ABlobThatWentWhileItsTrialWaitedIsAskedForAgain) {
  StageLimits limits;
  limits.blob_ns = 500 * kMs;
  Station station(lying_worker([](const ReceivedRequest& request, int socket, StatusPage*) {
                    if (lease_of(request) == 1) usleep(200'000);
                    (void)!write_frame(socket, outcome_reply(request.ticket, 7));
                  }),
                  limits, 4096);
  const Bytes mine(3000, 1), others(3000, 2);
  const auto hash = content_hash(mine);
  station.submit(1);
  ASSERT_TRUE(station.blobs.put(hash, mine).ok());
  auto waiting = Station::request({hash});
  waiting.options->number = 2;
  EXPECT_TRUE(station.queue->accept(2, 1, encode(waiting)).empty());
  ASSERT_TRUE(station.blobs.put(content_hash(others), others).ok());
  EXPECT_EQ(station.wait_for(1), "median 7");
  ASSERT_TRUE(station.pump([&] { return !station.asked_again.empty(); }));
  EXPECT_EQ(to_hex(station.asked_again[0]), to_hex(hash));
  ASSERT_TRUE(station.blobs.put(hash, mine).ok());
  station.queue->blob_arrived(hash, mine.size());
  EXPECT_EQ(station.wait_for(2), "median 7");
  EXPECT_EQ(station.asked_again.size(), 1u);
}

// Nobody brings it: it is said, and the device goes on with others.
TEST(DeviceQueueFault, ABlobThatWentAndDoesNotComeAgainIsSaid) {
  StageLimits limits;
  limits.blob_ns = 100 * kMs;
  Station station(lying_worker([](const ReceivedRequest& request, int socket, StatusPage*) {
                    if (lease_of(request) == 1) usleep(200'000);
                    (void)!write_frame(socket, outcome_reply(request.ticket, 7));
                  }),
                  limits, 4096);
  const Bytes mine(3000, 1), others(3000, 2);
  station.submit(1);
  ASSERT_TRUE(station.blobs.put(content_hash(mine), mine).ok());
  auto waiting = Station::request({content_hash(mine)});
  EXPECT_TRUE(station.queue->accept(2, 1, encode(waiting)).empty());
  ASSERT_TRUE(station.blobs.put(content_hash(others), others).ok());
  EXPECT_TRUE(begins(station.wait_for(2), "Upload MissingBlob")) << station.outcomes[2];
}

}  // namespace
}  // namespace fettle::agent
