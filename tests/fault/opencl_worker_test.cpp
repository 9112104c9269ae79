// Good and evil kernels on an OpenCL device in a real worker program: each ends as the failure it
// deserves and the next one is measured as if nothing had been.
#include <gtest/gtest.h>
#include <cstring>

#include "agent/device/opencl/opencl_row.h"
#include "agent/worker/executed_worker.h"
#include "agent/worker/worker.h"
#include "tests/support/agent_candidates.h"
#include "tests/support/opencl_candidates.h"
#include "tests/support/worker_station.h"

namespace fettle::agent {
namespace {

using test::WorkerStation;

wire::DeviceInfoT opencl_device(const std::string& library) {
  DeviceConfig config;
  config.key = "gpu";
  config.kind = wire::DeviceKind::OpenCl;
  config.memory_limit_bytes = std::uint64_t{256} << 20;
  if (!library.empty()) config.settings[kOpenClLibrary] = library;
  return describe_opencl(config, SystemRoot());
}

class OpenClStation : public WorkerStation {
 public:
  explicit OpenClStation(const std::string& library = "")
      : WorkerStation(
            [library](std::uint32_t, int socket, int status_memory) {
              return refuse_device(
                  socket, execute_worker({}, FETTLE_WORKER_GPU_FILE, opencl_device(library), socket,
                                         status_memory));
            },
            one(library)),
        answer(put(test::candidate_answer())) {}
  std::string measure(wire::ProgramT program) {
    auto request = test::candidate_request(kGood, answer);
    request.program = std::make_unique<wire::ProgramT>(std::move(program));
    request.options->timeout_ms = 1000;
    return said(wait_for(submit(request)));
  }
  wire::Hash answer;

 private:
  static std::vector<wire::DeviceInfoT> one(const std::string& library) {
    std::vector<wire::DeviceInfoT> out;
    out.push_back(opencl_device(library));
    return out;
  }
};

class OpenClWorker : public testing::Test {
 protected:
  static inline std::unique_ptr<OpenClStation> station;
  void SetUp() override {
    if (!test::why_no_opencl().empty()) GTEST_SKIP() << test::why_no_opencl();
    if (!station) station = std::make_unique<OpenClStation>();
    ASSERT_TRUE(station->pump([] { return station->queues[0]->ready(); }, 60))
        << station->queues[0]->refusal();
  }
  void TearDown() override {
    if (IsSkipped()) return;
    EXPECT_EQ(station->measure(test::opencl_program("twice")), "measured");
  }
  static void TearDownTestSuite() { station.reset(); }
  static void expect(wire::ProgramT program, const std::string& begin, const std::string& words) {
    const std::string said = station->measure(std::move(program));
    EXPECT_EQ(said.rfind(begin, 0), 0u) << said;
    EXPECT_NE(said.find(words), std::string::npos) << said;
    std::printf("             %s\n", said.c_str());
  }
  static void expect(const std::string& kernel, const std::string& begin,
                     const std::string& words) {
    expect(test::opencl_program(kernel), begin, words);
  }
};

TEST_F(OpenClWorker, SaysWhatItIs) {
  const wire::DeviceInfoT& info = station->queues[0]->info();
  ASSERT_TRUE(info.gpu);
  EXPECT_NE(info.name, "OpenCL device");
  EXPECT_GT(info.gpu->compute_units, 0u);
  EXPECT_EQ(info.gpu->max_block.size(), 3u);
  EXPECT_GT(info.gpu->warp_size, 0u);
  EXPECT_FALSE(info.gpu->extensions.empty());
  std::printf("             %s, %s, %s, sandbox %s\n", info.name.c_str(),
              info.gpu->api_version.c_str(), info.gpu->driver_version.c_str(),
              wire::EnumNameSandbox(info.sandbox));
}
TEST_F(OpenClWorker, WrongByOneElement) {
  expect("one_wrong", "Check WrongAnswer", "1 of 1001 elements are wrong; element 7");
}
TEST_F(OpenClWorker, WritesBehindItsOutput) {
  expect("write_behind", "Run StrayWrite", "behind it, the nearest 4 bytes off its end");
}
TEST_F(OpenClWorker, WritesBeforeItsOutput) {
  expect("write_before", "Run StrayWrite", "before it");
}
TEST_F(OpenClWorker, WritesToItsInput) {
  expect("write_input", "Run StrayWrite", "only read, at byte 2");
}
TEST_F(OpenClWorker, NeverEnds) { expect("endless", "Run RunTimeout", "limit of 1000 ms"); }
TEST_F(OpenClWorker, WritesToAWildAddress) {
  if (station->queues[0]->info().gpu->device_type != "CPU") GTEST_SKIP() << "a GPU may let it pass";
  expect("write_wild", "Run Crash", "0x10");
}
TEST_F(OpenClWorker, LocalMemoryIsTheLastArgument) {
  auto program = test::opencl_program("through_local");
  program.launches[0]->shared_bytes = 64 * sizeof(float);
  EXPECT_EQ(station->measure(std::move(program)), "measured");
}
TEST_F(OpenClWorker, TooFewArguments) {
  expect("through_local", "Load InvalidArgument",
         "'through_local' takes 4 arguments, the launch has 3");
}
TEST_F(OpenClWorker, TooManyThreads) {
  auto program = test::opencl_program("twice");
  program.launches[0]->block = std::make_unique<wire::Dim3>(64, 64, 1);
  if (station->queues[0]->info().gpu->max_threads_per_block >= 4096) {
    GTEST_SKIP() << "this device has as many as a program may ask for";
  }
  expect(std::move(program), "Load OutOfResources", "4096 threads in a block");
}
// The kernel's own limit, which may be below the device's.
TEST_F(OpenClWorker, MoreThreadsThanTheKernelTakes) {
  const std::string said = station->measure(test::opencl_program("of_eight"));
  EXPECT_NE(said.find("OutOfResources"), std::string::npos) << said;
  std::printf("             %s\n", said.c_str());
}
TEST_F(OpenClWorker, TooMuchLocalMemory) {
  auto program = test::opencl_program("through_local");
  program.launches[0]->shared_bytes = 1 << 20;
  if (station->queues[0]->info().gpu->shared_bytes_per_block >= 1 << 20) {
    GTEST_SKIP() << "this device has as much as a program may ask for";
  }
  expect(std::move(program), "Load OutOfResources", "bytes of local memory");
}
TEST_F(OpenClWorker, SourceThatDoesNotCompileComesWithTheLog) {
  auto program = test::opencl_program("twice");
  const std::string text = "__kernel void twice() { no_such_function(1); }";
  program.images[0]->bytes.assign(text.begin(), text.end());
  expect(std::move(program), "Load BuildError", "no_such_function");
}
TEST_F(OpenClWorker, NoSuchKernel) {
  expect("missing", "Load LoadError", "CL_INVALID_KERNEL_NAME");
}
TEST_F(OpenClWorker, SelfTestsProgramRuns) {
  wire::MeasureRequestT request;
  request.program = std::make_unique<wire::ProgramT>(opencl_self_test({}).program);
  request.options = std::make_unique<wire::MeasureOptionsT>();
  request.options->min_repeat_ms = 1;
  EXPECT_EQ(WorkerStation::said(station->wait_for(station->submit(request))), "measured");
}

TEST(OpenClLibrary, IsMissing) {
  OpenClStation station("libnone.so.1");
  const std::string said = station.measure(test::opencl_program("twice"));
  EXPECT_NE(said.find("the device cannot be opened: no OpenCL here: libnone.so.1"),
            std::string::npos)
      << said;
}

}  // namespace
}  // namespace fettle::agent
