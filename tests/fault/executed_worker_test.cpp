// Workers that are programs of their own: executed from memory or from a file, they live, fail
// and are replaced as forked ones; a device whose program cannot be had harms no other.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "agent/device/registry.h"
#include "agent/worker/executed_worker.h"
#include "agent/worker/worker.h"
#include "agent/worker/worker_start.h"
#include "tests/support/agent_candidates.h"
#include "tests/support/worker_station.h"

namespace fettle::agent {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

wire::DeviceInfoT cpu_device(std::uint32_t index) {
  DeviceConfig config;
  config.key = "test-" + std::to_string(index);
  config.index = index;
  config.memory_limit_bytes = std::uint64_t{64} << 20;
  return find_device_row(wire::DeviceKind::Cpu)->describe(config, SystemRoot());
}

Bytes file_bytes(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

// Device 0 has executed workers, device 1 forked ones.
class Station : public test::WorkerStation {
 public:
  explicit Station(const std::string& path, const StageLimits& limits = {}, Bytes embedded = {})
      : WorkerStation(
            [=](std::uint32_t device, int socket, int status_memory) {
              const auto info = cpu_device(device);
              if (device == 1) return start_worker(info, "", socket, status_memory);
              return refuse_device(socket,
                                   execute_worker(embedded, path, info, socket, status_memory));
            },
            two_devices(), limits),
        answer_(put(test::candidate_answer())) {}

  std::uint64_t submit(CandidateKind kind, std::size_t device = 0) {
    return WorkerStation::submit(test::candidate_request(kind, answer_), device);
  }
  std::string wait_for(std::uint64_t lease) { return said(WorkerStation::wait_for(lease)); }
  std::string measure(CandidateKind kind, std::size_t device = 0) {
    return wait_for(submit(kind, device));
  }

 private:
  static std::vector<wire::DeviceInfoT> two_devices() {
    std::vector<wire::DeviceInfoT> out;
    out.push_back(cpu_device(0));
    out.push_back(cpu_device(1));
    return out;
  }
  wire::Hash answer_;
};

class ExecutedWorker : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::have_candidates()) GTEST_SKIP() << "no candidates for this architecture";
  }
  void TearDown() override { unsetenv("FETTLE_TEST_WORKER"); }
  // The trial of device 0 ends so; device 1 goes on.
  static void expect_unusable(Station& station, const std::string& words,
                              const std::string& code = "DeviceLost") {
    const auto waiting = station.submit(kGood);
    EXPECT_EQ(station.measure(kGood, 1), "measured");
    const std::string said = station.wait_for(waiting);
    EXPECT_NE(said.find(words), std::string::npos) << said;
    EXPECT_EQ(said.rfind("Load " + code, 0), 0u) << said;
    EXPECT_EQ(station.measure(kGood, 1), "measured");
  }
};

TEST_F(ExecutedWorker, FromMemoryItMeasuresAndSaysWhatTheDeviceIs) {
  Station station("", {}, file_bytes(FETTLE_EXECUTED_WORKER));
  // What a device says is known once it has measured.
  EXPECT_EQ(station.measure(kGood), "measured");
  EXPECT_EQ(station.measure(kGood, 1), "measured");
  EXPECT_EQ(station.queues[0]->info().name, "seen by the worker program");
  EXPECT_NE(station.queues[1]->info().name, "seen by the worker program");
  EXPECT_EQ(station.queues[0]->info().sandbox, station.queues[1]->info().sandbox);
}

TEST_F(ExecutedWorker, FromAFileToo) {
  Station station(FETTLE_EXECUTED_WORKER);
  EXPECT_EQ(station.measure(kGood), "measured");
}

TEST_F(ExecutedWorker, DiesHangsAndIsReplaced) {
  Station station("", {}, file_bytes(FETTLE_EXECUTED_WORKER));
  EXPECT_EQ(station.measure(kCrash).rfind("Run Crash", 0), 0u);
  EXPECT_EQ(station.measure(kGood), "measured");
  EXPECT_EQ(station.measure(kLoop).rfind("Run RunTimeout", 0), 0u);
  EXPECT_EQ(station.measure(kGood), "measured");
  const auto pid = station.queues[0]->worker_pid();
  ASSERT_GT(pid, 0);
  kill(pid, SIGKILL);
  EXPECT_TRUE(station.pump([&] {
    return station.queues[0]->worker_pid() != pid && station.queues[0]->worker_pid() != 0;
  }));
  EXPECT_EQ(station.measure(kGood), "measured");
}

TEST_F(ExecutedWorker, SpeaksOfAnotherDeviceAndIsRefused) {
  setenv("FETTLE_TEST_WORKER", "other", 1);
  Station station(FETTLE_EXECUTED_WORKER);
  expect_unusable(station, "dies as soon as it starts", "WorkerLost");
  EXPECT_FALSE(station.queues[0]->ready());
  EXPECT_NE(station.queues[0]->info().key, "another");
}

TEST_F(ExecutedWorker, IsNeverReady) {
  setenv("FETTLE_TEST_WORKER", "hang", 1);
  StageLimits limits;
  limits.open_ns = kSecond / 2;
  Station station(FETTLE_EXECUTED_WORKER, limits);
  expect_unusable(station, "dies as soon as it starts", "WorkerLost");
}

TEST_F(ExecutedWorker, CrashesAsItOpensTheDevice) {
  setenv("FETTLE_TEST_WORKER", "crash", 1);
  Station station(FETTLE_EXECUTED_WORKER);
  expect_unusable(station, "dies as soon as it starts", "WorkerLost");
}

// Between two starts no worker has the trial, though one had.
TEST_F(ExecutedWorker, ItsTrialIsReleasedWhileThereIsNone) {
  setenv("FETTLE_TEST_WORKER", "crash", 1);
  Station station(FETTLE_EXECUTED_WORKER);
  const auto lease = station.submit(kGood);
  for (int deaths = 0; deaths < 3; ++deaths) {
    ASSERT_TRUE(station.pump([&] { return station.queues[0]->fd() >= 0; }));
    // Gone, and the next not yet asked for, or asked for and not started.
    ASSERT_TRUE(station.pump([&] { return station.queues[0]->worker_pid() == 0; }));
  }
  ASSERT_TRUE(station.pump(
      [&] { return station.queues[0]->fd() < 0 && station.queues[0]->worker_pid() == 0; }));
  station.queues[0]->release(lease);
  EXPECT_TRUE(station.queues[0]->idle());
  EXPECT_EQ(station.measure(kGood, 1), "measured");
}

TEST_F(ExecutedWorker, DrivesNoDeviceOfThatKind) {
  setenv("FETTLE_TEST_WORKER", "none", 1);
  Station station(FETTLE_EXECUTED_WORKER);
  expect_unusable(station, "drives no device of the kind Cpu");
  EXPECT_NE(station.queues[0]->refusal(), "");
  // Later trials are told so, too.
  EXPECT_NE(station.measure(kGood).find("drives no device"), std::string::npos);
}

TEST_F(ExecutedWorker, IsMissing) {
  Station station("/nowhere/worker");
  expect_unusable(station,
                  "cannot execute the worker program /nowhere/worker: No such file or directory");
}

// As a driver that is unloaded while the agent runs. At once it would lose more trials than all
// boards that work can answer.
TEST_F(ExecutedWorker, GoesAwayIsNotOfferedAndRefusesSlowly) {
  const std::string path = testing::TempDir() + "/a_worker_that_goes_away";
  std::filesystem::copy_file(FETTLE_EXECUTED_WORKER, path,
                             std::filesystem::copy_options::overwrite_existing);
  Station station(path);
  EXPECT_EQ(station.measure(kGood), "measured");
  EXPECT_TRUE(station.queues[0]->ready());
  std::filesystem::remove(path);
  kill(station.queues[0]->worker_pid(), SIGKILL);
  ASSERT_TRUE(station.pump([&] { return !station.queues[0]->ready(); }));
  EXPECT_NE(station.queues[0]->refusal(), "");
  const std::uint64_t begin = StatusPage::monotonic_ns();
  const auto waiting = station.submit(kGood), behind = station.submit(kGood);
  EXPECT_NE(station.wait_for(waiting).find("cannot execute the worker program"), std::string::npos);
  EXPECT_NE(station.wait_for(behind).find("cannot execute the worker program"), std::string::npos);
  EXPECT_GT(StatusPage::monotonic_ns() - begin, kSecond);
  EXPECT_EQ(station.measure(kGood, 1), "measured");
}

TEST_F(ExecutedWorker, IsNotExecutable) {
  const std::string path = testing::TempDir() + "/not_executable";
  std::ofstream(path) << "text";
  chmod(path.c_str(), 0644);
  Station station(path);
  expect_unusable(station, "Permission denied");
}

TEST_F(ExecutedWorker, IsNotBuiltIn) {
  Station station("");
  expect_unusable(station, "--worker-gpu names its file");
}

TEST_F(ExecutedWorker, IsNoProgram) {
  Station station("", {}, Bytes(4096, 'x'));
  expect_unusable(station, "Exec format error");
}

}  // namespace
}  // namespace fettle::agent
