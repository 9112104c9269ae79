// Good and evil kernels on a CUDA device in a real worker program: each ends as the failure it
// deserves and the next one is measured as if nothing had been. On this machine's GPU where there
// is one, and always on a stand-in for the driver, which knows the same kernels by name.
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>

#include "tests/support/cuda_candidates.h"
#include "tests/support/cuda_worker.h"

namespace fettle::agent {
namespace {

using test::WorkerStation;

constexpr std::uint32_t kElements = 100'003;

wire::FillT input_fill(std::uint64_t stream) {
  wire::FillT fill;
  fill.kind = wire::FillKind::UniformReal;
  fill.low = 0.25;
  fill.high = 1;
  fill.stream = stream;
  return fill;
}

std::vector<float> filled(std::uint64_t stream, std::size_t count) {
  Bytes bytes(count * sizeof(float));
  EXPECT_TRUE(fill_bytes(input_fill(stream), bytes).ok());
  std::vector<float> out(count);
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

void add_buffer(wire::ProgramT& program, const char* name, std::uint64_t floats,
                wire::BufferRole role) {
  auto buffer = std::make_unique<wire::BufferT>();
  buffer->name = name;
  buffer->bytes = floats * sizeof(float);
  buffer->role = role;
  if (role == wire::BufferRole::Input) {
    buffer->fill = std::make_unique<wire::FillT>(input_fill(program.buffers.size()));
  }
  program.buffers.push_back(std::move(buffer));
}

wire::Arg buffer_arg(std::uint32_t buffer) { return {wire::ArgKind::Buffer, buffer, 0, 0, 0}; }
wire::Arg int_arg(std::int64_t value) { return {wire::ArgKind::Int32, 0, 0, value, 0}; }

// kernel(in, out, n)
wire::ProgramT vector_program(const std::string& kernel, std::uint32_t threads = 256,
                              std::uint32_t elements = kElements) {
  auto program =
      test::cuda_program(kernel, {(elements + threads - 1) / threads, 1, 1}, {threads, 1, 1});
  add_buffer(program, "data", elements, wire::BufferRole::Input);
  add_buffer(program, "result", elements, wire::BufferRole::Output);
  program.launches[0]->args = {buffer_arg(0), buffer_arg(1), int_arg(elements)};
  return program;
}

class Gpu : public testing::TestWithParam<bool> {
 protected:
  static inline std::map<bool, std::unique_ptr<WorkerStation>> stations;
  static std::string library() {
    return GetParam() ? std::string("libcuda.so.1") : std::string(FETTLE_CUDA_STAND_IN);
  }
  void SetUp() override {
    if (GetParam() && !test::why_no_cuda().empty()) GTEST_SKIP() << test::why_no_cuda();
    auto& mine = stations[GetParam()];
    if (!mine)
      mine = std::make_unique<WorkerStation>(test::cuda_worker(library()),
                                             test::one_cuda_device(library()));
    station = mine.get();
    ASSERT_TRUE(station->pump([&] { return station->queues[0]->ready(); }, 60))
        << station->queues[0]->refusal();
  }
  // Whatever it was, the next one is measured.
  void TearDown() override {
    if (IsSkipped()) return;
    EXPECT_EQ(said("twice"), "measured");
  }
  static void TearDownTestSuite() { stations.clear(); }

  wire::MeasureRequestT request(wire::ProgramT program, const std::vector<float>& answer,
                                double relative = 1e-6) {
    wire::MeasureRequestT out;
    out.program = std::make_unique<wire::ProgramT>(std::move(program));
    out.options = std::make_unique<wire::MeasureOptionsT>();
    out.options->min_repeat_ms = 1;
    out.options->timeout_ms = 500;
    out.options->retakes = 200;
    if (answer.empty()) return out;
    Bytes bytes(answer.size() * sizeof(float));
    std::memcpy(bytes.data(), answer.data(), bytes.size());
    auto expected = std::make_unique<wire::ExpectedOutputT>();
    expected->buffer = static_cast<std::uint32_t>(out.program->buffers.size() - 1);
    expected->dtype = wire::ScalarType::Float32;
    expected->blob = std::make_unique<wire::Hash>(station->put(bytes));
    expected->relative = relative;
    out.expected.push_back(std::move(expected));
    return out;
  }
  wire::OutcomeT measure(const wire::MeasureRequestT& request) {
    return station->wait_for(station->submit(request));
  }
  static std::vector<float> doubled() {
    auto values = filled(0, kElements);
    for (float& value : values) value *= 2;
    return values;
  }
  std::string said(wire::ProgramT program) {
    return WorkerStation::said(measure(request(std::move(program), doubled())));
  }
  std::string said(const std::string& kernel) { return said(vector_program(kernel)); }
  void expect(const std::string& said, const std::string& begin, const std::string& words) {
    EXPECT_EQ(said.rfind(begin, 0), 0u) << said;
    EXPECT_NE(said.find(words), std::string::npos) << said;
    std::printf("             %s\n", said.c_str());
  }
  WorkerStation* station = nullptr;
};

TEST_P(Gpu, SaysWhatItIs) {
  const wire::DeviceInfoT& info = station->queues[0]->info();
  ASSERT_TRUE(info.gpu);
  EXPECT_EQ(info.kind, wire::DeviceKind::Cuda);
  EXPECT_NE(info.name, "CUDA GPU");
  EXPECT_EQ(info.clock, wire::ClockDomain::Nanoseconds);
  EXPECT_EQ(info.memory_limit_bytes, info.gpu->global_memory_bytes / 2);
  EXPECT_GE(info.gpu->driver_api, 10020u);
  EXPECT_EQ(info.gpu->warp_size, 32u);
  EXPECT_EQ(info.gpu->max_grid.size(), 3u);
  EXPECT_GE(info.gpu->shared_bytes_per_block_optin, info.gpu->shared_bytes_per_block);
  EXPECT_GT(info.gpu->l2_bytes, 0u);
  std::printf("             %s, %s, driver %s, sm %s, %u units, sandbox %s\n", info.name.c_str(),
              info.gpu->api_version.c_str(), info.gpu->driver_version.c_str(),
              info.gpu->compute_capability.c_str(), info.gpu->compute_units,
              wire::EnumNameSandbox(info.sandbox));
}

TEST_P(Gpu, GoodIsMeasured) {
  const auto outcome = measure(request(vector_program("twice"), doubled()));
  const auto* measured = outcome.body.AsMeasurement();
  ASSERT_TRUE(measured) << WorkerStation::said(outcome);
  EXPECT_GT(measured->median, 100);
  EXPECT_EQ(measured->clock, wire::ClockDomain::Nanoseconds);
  std::printf("             %u kHz, %d millidegrees\n", measured->before->gpu_khz,
              measured->before->temperature_millidegrees);
  if (GetParam()) return;  // a Jetson has no NVML
  EXPECT_EQ(measured->before->gpu_khz, 1'410'000u);
  EXPECT_EQ(measured->after->temperature_millidegrees, 41'000);
  EXPECT_FALSE(measured->before->throttled) << "a power cap is no heat";
}

TEST_P(Gpu, WrongByOneElement) {
  expect(said("one_wrong"), "Check WrongAnswer", "1 of 100003 elements are wrong; element 7");
}
TEST_P(Gpu, LeavesPartUnwritten) {
  expect(said("leave_part"), "Check UnwrittenOutput", "10 of 100003");
}
TEST_P(Gpu, WritesBehindItsOutput) {
  expect(said("write_behind"), "Run StrayWrite", "behind it, the nearest 4 bytes off its end");
}
TEST_P(Gpu, WritesBeforeItsOutput) { expect(said("write_before"), "Run StrayWrite", "before it"); }
TEST_P(Gpu, WritesToItsInput) {
  expect(said("write_input"), "Run StrayWrite", "only read, at byte 2");
}

// The error sticks: the worker says so, ends, and a fresh one serves the next trial.
TEST_P(Gpu, WritesToAWildAddress) {
  const auto before = station->queues[0]->worker_pid();
  expect(said("write_wild"), "Run Crash", "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(said("twice"), "measured");
  EXPECT_NE(station->queues[0]->worker_pid(), before);
}
TEST_P(Gpu, Traps) {
  auto asked = request(vector_program("trap"), doubled());
  asked.options->timeout_ms = 10'000;  // the driver may take its time to tell
  const auto outcome = measure(asked);
  expect(WorkerStation::said(outcome), "Run Crash", "CUDA_ERROR_LAUNCH_FAILED");
  std::printf("             after %.0f ms\n", double(outcome.times->total_ns) / 1e6);
}
TEST_P(Gpu, NeverEnds) { expect(said("endless"), "Run RunTimeout", "limit of 500 ms"); }

TEST_P(Gpu, TooManyThreads) {
  expect(said(vector_program("twice", 2048)), "Load OutOfResources",
         "2048 threads along x, at most 1024 fit");
  auto program = vector_program("twice");
  program.launches[0]->block = std::make_unique<wire::Dim3>(64, 32, 1);
  expect(said(std::move(program)), "Load OutOfResources", "2048 threads in a block");
}
TEST_P(Gpu, TooManyBlocks) {
  auto program = vector_program("twice");
  program.launches[0]->grid = std::make_unique<wire::Dim3>(400, 70'000, 1);
  expect(said(std::move(program)), "Load OutOfResources", "70000 blocks along y, at most 65535");
}
TEST_P(Gpu, TooMuchSharedMemory) {
  auto program = vector_program("through_shared");
  program.launches[0]->shared_bytes = 1 << 20;
  expect(said(std::move(program)), "Load OutOfResources", "bytes of shared memory");
}
TEST_P(Gpu, SharedMemoryAboveWhatIsGivenUnasked) {
  const auto& gpu = *station->queues[0]->info().gpu;
  if (gpu.shared_bytes_per_block_optin == gpu.shared_bytes_per_block) {
    GTEST_SKIP() << "this GPU has no more";
  }
  auto program = vector_program("through_shared");
  program.launches[0]->shared_bytes =
      static_cast<std::uint32_t>(gpu.shared_bytes_per_block_optin - 1024);
  EXPECT_EQ(said(std::move(program)), "measured");
}
TEST_P(Gpu, TooMuchMemory) {
  auto program = vector_program("twice");
  program.buffers[1]->bytes = std::uint64_t{3} << 30;
  if (station->queues[0]->info().memory_limit_bytes > program.buffers[1]->bytes) {
    // Over the treaty's own limit for one buffer, thirteen of them are over any GPU's.
    for (int i = 0; i < 4; ++i) add_buffer(program, "more", 900 << 20, wire::BufferRole::Scratch);
    GTEST_SKIP() << "no program may be as large as this GPU's memory";
  }
  auto outcome = measure(request(std::move(program), {}));
  expect(WorkerStation::said(outcome), "Load OutOfMemory", "3072 MiB");
}

TEST_P(Gpu, PtxThatDoesNotCompileComesWithTheLog) {
  auto program = vector_program("twice");
  const std::string text =
      ".version 6.4\n.target sm_75\n.address_size 64\n.visible .entry twice()\n"
      "{\n  no_such_instruction.f32 %r1;\n}\n";
  program.images[0]->bytes.assign(text.begin(), text.end());
  expect(said(std::move(program)), "Load BuildError", "no_such_instruction");
}
TEST_P(Gpu, NoModuleAtAll) {
  auto program = vector_program("twice");
  program.images[0]->bytes = {'x', 'y', 'z'};
  const std::string text = said(std::move(program));
  EXPECT_EQ(text.rfind("Load ", 0), 0u) << text;
  EXPECT_NE(text.find("CUDA_ERROR"), std::string::npos) << text;
}
TEST_P(Gpu, NoSuchKernel) { expect(said("missing"), "Load LoadError", "CUDA_ERROR_NOT_FOUND"); }
TEST_P(Gpu, ImageOfAnotherKind) {
  auto program = vector_program("twice");
  program.images[0]->kind = wire::ImageKind::OpenClSource;
  expect(said(std::move(program)), "Load Unsupported", "OpenClSource");
}
TEST_P(Gpu, TooFewArguments) {
  auto program = vector_program("twice");
  program.launches[0]->args.resize(1);
  expect(said(std::move(program)), "Load InvalidArgument",
         "'twice' takes 20 bytes of arguments, the launch has 8");
}

// Assembled when this test was built, for one GPU.
TEST_P(Gpu, CubinIsMeasured) {
  auto program = vector_program("twice");
  program.images[0]->kind = wire::ImageKind::Cubin;
  program.images[0]->bytes = test::cuda_data("candidates_sm_90.cubin");
  if (program.images[0]->bytes.empty()) GTEST_SKIP() << "no ptxas where this was built";
  const auto outcome = measure(request(std::move(program), doubled()));
  if (GetParam() && station->queues[0]->info().gpu->compute_capability == "9.0") {
    EXPECT_EQ(WorkerStation::said(outcome), "measured");
    std::printf("             loaded in %.2f ms\n", double(outcome.times->load_ns) / 1e6);
  } else {
    expect(WorkerStation::said(outcome), "Load LoadError", "CUDA_ERROR_");
  }
}

TEST_P(Gpu, ScalarsOfEachWidth) {
  auto program = test::cuda_program("scalars", {1, 1, 1}, {1, 1, 1});
  add_buffer(program, "out", 4, wire::BufferRole::Output);
  program.launches[0]->args = {buffer_arg(0),
                               int_arg(-7),
                               {wire::ArgKind::Int64, 0, 0, std::int64_t{5} << 32, 0},
                               {wire::ArgKind::Float32, 0, 0, 0, 1.5},
                               {wire::ArgKind::Float64, 0, 0, 0, 0.1}};
  EXPECT_EQ(WorkerStation::said(measure(request(std::move(program), {-7, 5, 1.5f, 0.1f}))),
            "measured");
}

TEST_P(Gpu, LaunchesAreTimedEach) {
  auto program = vector_program("twice");
  program.launches.push_back(std::move(vector_program("through_shared").launches[0]));
  program.launches[1]->shared_bytes = 1024;
  program.images[0]->entries.push_back(std::make_unique<wire::EntryPointT>());
  program.images[0]->entries[1]->name = "through_shared";
  program.launches[1]->entry = 1;
  auto asked = request(std::move(program), doubled());
  asked.options->launch_ticks = true;
  const auto outcome = measure(asked);
  const auto* measured = outcome.body.AsMeasurement();
  ASSERT_TRUE(measured) << WorkerStation::said(outcome);
  ASSERT_EQ(measured->launch_ticks.size(), 2u);
  for (const double ticks : measured->launch_ticks) EXPECT_GT(ticks, 0);
}

TEST_P(Gpu, FlushedCachesAreSlower) {
  // Half of the L2, input and output together.
  const auto l2 = station->queues[0]->info().gpu->l2_bytes;
  double median[2];
  for (const bool flush : {false, true}) {
    const auto elements = static_cast<std::uint32_t>(l2 / 16);
    auto asked = request(vector_program("twice", 256, elements), {});
    asked.options->flush_cache = flush;
    asked.options->number = flush ? 0 : 1;
    asked.options->repeat = 20;
    const auto outcome = measure(asked);
    const auto* measured = outcome.body.AsMeasurement();
    ASSERT_TRUE(measured) << WorkerStation::said(outcome);
    median[flush] = measured->median;
  }
  std::printf("             warm %.0f ns, flushed %.0f ns\n", median[0], median[1]);
  if (GetParam()) {
    EXPECT_GT(median[1], median[0] * 1.05);
  }
}

TEST_P(Gpu, MatrixProduct) {
  const std::uint32_t n = GetParam() ? 1024 : 64;
  auto program = test::cuda_program("matmul", {n / 16, n / 16, 1}, {16, 16, 1});
  for (const char* name : {"a", "b"}) add_buffer(program, name, n * n, wire::BufferRole::Input);
  add_buffer(program, "c", n * n, wire::BufferRole::Output);
  program.launches[0]->args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), int_arg(n)};
  const auto a = filled(0, n * n), b = filled(1, n * n);
  std::vector<float> want(n * n);
  std::vector<double> row(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    std::fill(row.begin(), row.end(), 0);
    for (std::uint32_t k = 0; k < n; ++k) {
      for (std::uint32_t j = 0; j < n; ++j) row[j] += double{a[i * n + k]} * b[k * n + j];
    }
    for (std::uint32_t j = 0; j < n; ++j) want[i * n + j] = static_cast<float>(row[j]);
  }
  auto asked = request(std::move(program), want, 1e-4);
  asked.expected[0]->absolute = 1e-3;
  const auto outcome = measure(asked);
  const auto* measured = outcome.body.AsMeasurement();
  ASSERT_TRUE(measured) << WorkerStation::said(outcome);
  const double gflops = 2.0 * n * n * n / measured->median;
  std::printf("             %u: %.1f us, %.0f GFLOPS\n", n, measured->median / 1e3, gflops);
  if (GetParam()) {
    EXPECT_GT(gflops, 20);
    EXPECT_LT(gflops, 200'000);
  }
}

TEST_P(Gpu, TrialsOfAnEmptyKernel) {
  auto program = test::cuda_program("nothing", {1, 1, 1}, {32, 1, 1});
  const std::string text =
      ".version 6.4\n.target sm_75\n.address_size 64\n.visible .entry nothing()\n{\nret;\n}\n";
  program.images[0]->bytes.assign(text.begin(), text.end());
  const auto asked = request(std::move(program), {});
  constexpr int kTrials = 100;
  const std::uint64_t start = StatusPage::monotonic_ns();
  for (int i = 0; i < kTrials; ++i) {
    const auto outcome = measure(asked);
    ASSERT_TRUE(outcome.body.AsMeasurement()) << WorkerStation::said(outcome);
    if (i + 1 < kTrials) continue;
    const double seconds = static_cast<double>(StatusPage::monotonic_ns() - start) / 1e9;
    const auto& times = *outcome.times;
    std::printf(
        "             %.0f trials/s of %zu samples of 1 ms; a launch takes %.0f ns; of one "
        "trial: load %.1f ms, warm-up %.1f, check %.1f, run %.1f, in all %.1f\n",
        kTrials / seconds, outcome.body.AsMeasurement()->samples.size(),
        outcome.body.AsMeasurement()->median, double(times.load_ns) / 1e6,
        double(times.warmup_ns) / 1e6, double(times.check_ns) / 1e6, double(times.run_ns) / 1e6,
        double(times.total_ns) / 1e6);
  }
}

TEST_P(Gpu, TimeToOpen) {
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t start = StatusPage::monotonic_ns();
    WorkerStation fresh(test::cuda_worker(library()), test::one_cuda_device(library()));
    ASSERT_TRUE(fresh.pump([&] { return fresh.queues[0]->ready(); }, 60));
    std::printf("             a worker is ready after %.0f ms\n",
                static_cast<double>(StatusPage::monotonic_ns() - start) / 1e6);
  }
}

INSTANTIATE_TEST_SUITE_P(, Gpu, testing::Bool(), [](const auto& info) {
  return info.param ? std::string("Driver") : std::string("StandIn");
});

}  // namespace
}  // namespace fettle::agent
