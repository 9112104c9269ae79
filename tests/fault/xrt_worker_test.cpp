// Good and evil streams on an accelerator through the real libxrt_coreutil, in the real worker
// program: each ends as the failure it deserves and the next one is measured as if nothing had
// been. The card is the one that xrt_shim.cpp plays.
#include <gtest/gtest.h>
#include <cstdlib>

#include "agent/device/registry.h"
#include "agent/device/xrt/xrt_row.h"
#include "agent/worker/executed_worker.h"
#include "agent/worker/worker.h"
#include "tests/support/running_program.h"
#include "tests/support/vta_candidates.h"
#include "tests/support/worker_station.h"
#include "tests/support/xrt_card.h"
#include "tests/support/xrt_shim.h"

namespace fettle::agent {
namespace {

using namespace test;

wire::DeviceInfoT xrt_device(const std::map<std::string, std::string>& settings) {
  DeviceConfig config;
  config.key = "alveo";
  config.kind = wire::DeviceKind::Xrt;
  config.memory_limit_bytes = std::uint64_t{16} << 20;
  config.settings = settings;
  return describe_xrt(config, SystemRoot());
}

class XrtStation : public WorkerStation {
 public:
  explicit XrtStation(const std::map<std::string, std::string>& settings)
      : WorkerStation(
            [settings](std::uint32_t, int socket, int status_memory) {
              return refuse_device(
                  socket, execute_worker({}, FETTLE_WORKER_GPU_FILE, xrt_device(settings), socket,
                                         status_memory));
            },
            one(settings)),
        answer(put(vta_candidate_answer())) {
    const wire::ProgramT program = vta_candidate_program(kGood);
    for (const std::size_t constant : {2, 3}) {
      const ByteView blob = vta_candidate_blob(*program.buffers[constant]->fill->blob);
      put(Bytes(blob.begin(), blob.end()));
    }
  }
  wire::OutcomeT outcome(wire::ProgramT program, std::uint32_t timeout_ms = 60'000) {
    wire::MeasureRequestT request;
    request.program = std::make_unique<wire::ProgramT>(std::move(program));
    request.options = std::make_unique<wire::MeasureOptionsT>();
    request.options->timeout_ms = timeout_ms;
    auto expected = std::make_unique<wire::ExpectedOutputT>();
    expected->buffer = 1;
    expected->dtype = wire::ScalarType::Int8;
    expected->blob = std::make_unique<wire::Hash>(answer);
    request.expected.push_back(std::move(expected));
    return wait_for(submit(request));
  }
  wire::Hash answer;

 private:
  static std::vector<wire::DeviceInfoT> one(const std::map<std::string, std::string>& settings) {
    std::vector<wire::DeviceInfoT> out;
    out.push_back(xrt_device(settings));
    return out;
  }
};

std::map<std::string, std::string> settings_of(const std::string& design) {
  no_xrt_card();
  return {{kXrtXclbin, xclbin_of(design)}};
}

// kGood's stream, with so many instructions as the card shall fail at.
wire::ProgramT stream_of(std::uint32_t instructions) {
  auto stream = vta_good_stream();
  stream.insert(stream.end() - 1, instructions - stream.size(),
                {{}, vta::Load{{vta::Memory::Uop}}});
  return vta_program_of(stream);
}

class XrtWorker : public ::testing::Test {
 protected:
  static inline std::unique_ptr<XrtStation> station;
  void SetUp() override {
    if (!station) station = std::make_unique<XrtStation>(settings_of("pynq"));
    ASSERT_TRUE(station->pump([] { return station->queues[0]->ready(); }))
        << station->queues[0]->refusal();
  }
  void TearDown() override {
    EXPECT_EQ(XrtStation::said(station->outcome(vta_candidate_program(kGood))), "measured");
  }
  static void TearDownTestSuite() { station.reset(); }
  static void expect(const wire::OutcomeT& outcome, const std::string& begin,
                     const std::string& words) {
    const std::string said = XrtStation::said(outcome);
    EXPECT_EQ(said.rfind(begin, 0), 0u) << said;
    EXPECT_NE(said.find(words), std::string::npos) << said;
    std::printf("             %s\n", said.c_str());
  }
};

TEST_F(XrtWorker, SaysWhatItIs) {
  const wire::DeviceInfoT& info = station->queues[0]->info();
  EXPECT_EQ(info.kind, wire::DeviceKind::Xrt);
  EXPECT_EQ(info.name, "VTA design pynq, through XRT");
  EXPECT_EQ(info.clock, wire::ClockDomain::AcceleratorCycles);
  EXPECT_EQ(info.clock_hz, 1e8);
  EXPECT_EQ(info.fpga->configuration, vta::configuration_of(*vta::find_design("pynq")));
  std::printf("             sandbox %s\n", wire::EnumNameSandbox(info.sandbox));
}
TEST_F(XrtWorker, CyclesAreTheCores) {
  const auto outcome = station->outcome(vta_candidate_program(kGood));
  const auto* measured = outcome.body.AsMeasurement();
  ASSERT_TRUE(measured) << XrtStation::said(outcome);
  EXPECT_EQ(measured->clock, wire::ClockDomain::AcceleratorCycles);
  EXPECT_EQ(measured->ticks_per_second, 1e8);
  EXPECT_GT(measured->median, 3 * 256) << "each micro-op is a cycle";
}
TEST_F(XrtWorker, AnotherDesignsProgram) {
  auto program = vta_candidate_program(kGood);
  program.images[0]->configuration = vta::configuration_of(*vta::find_design("zcu104"));
  expect(station->outcome(std::move(program)), "Load WrongConfiguration", "'zcu104'");
}
TEST_F(XrtWorker, StoresBehindItsOutput) {
  expect(station->outcome(vta_candidate_program(kWriteBehind)), "Load Malformed",
         "instruction 6 (STORE");
}
TEST_F(XrtWorker, IsStillAtWorkAtItsTimeLimit) {
  expect(station->outcome(stream_of(kXrtShimStuck), 300), "Run RunTimeout", "limit of 300 ms");
}
// By the kernel's own limit: ten seconds of the design's clock.
TEST_F(XrtWorker, NeverEndsAndIsStopped) {
  expect(station->outcome(stream_of(kXrtShimEndless)), "Run RunTimeout",
         "the kernel is not done after 11000 ms");
}
TEST_F(XrtWorker, NeverEndsAndIsOpenedAnew) {
  expect(station->outcome(stream_of(kXrtShimStuck)), "Run RunTimeout", "the device is opened anew");
  ASSERT_TRUE(station->pump([] { return station->queues[0]->ready(); })) << "a fresh worker";
}
TEST_F(XrtWorker, IsRefusedByXrt) {
  expect(station->outcome(stream_of(kXrtShimRefused)), "Run WorkerLost", "ERT_CMD_STATE_ERROR");
  ASSERT_TRUE(station->pump([] { return station->queues[0]->ready(); })) << "a fresh worker";
}
TEST_F(XrtWorker, MeetsAnErrorOfTheBus) {
  expect(station->outcome(stream_of(kXrtShimBusError)), "Run Internal", "errors 2");
}

// What the worker says where it cannot open the device.
std::string refusal(std::map<std::string, std::string> settings) {
  XrtStation station(settings);
  station.pump([&] { return !station.queues[0]->refusal().empty(); });
  std::printf("             %s\n", station.queues[0]->refusal().c_str());
  return station.queues[0]->refusal();
}

TEST(XrtWorkerRefusal, SaysWhatIsMissing) {
  auto settings = settings_of("pynq");
  settings[kXrtLibrary] = "libno_xrt.so.2";
  EXPECT_NE(refusal(settings).find("no XRT here: libno_xrt.so.2"), std::string::npos);
  settings = settings_of("pynq");
  settings[kXrtDevice] = "3";
  EXPECT_NE(refusal(settings).find("Could not open device with index '3'"), std::string::npos);
  EXPECT_NE(refusal({}).find("needs --xrt-xclbin FILE"), std::string::npos);
  EXPECT_NE(refusal({{kXrtXclbin, "/nowhere/a.xclbin"}}).find("/nowhere/a.xclbin: cannot be read"),
            std::string::npos);
  setenv("XILINX_XRT", "/nowhere", 1);
  EXPECT_NE(refusal({{kXrtXclbin, xclbin_of("pynq")}}).find("no /nowhere/lib/libxrt_core.so.2"),
            std::string::npos);
}

// The real agent, its embedded worker, and a design of another clock.
TEST(XrtAgent, SelfTest) {
  const auto said =
      testing::run_program({FETTLE_AGENT, "--self-test", "--key", "zcu104", "--device-kind", "xrt",
                            "--xrt-xclbin", xclbin_of("zcu104")},
                           std::chrono::seconds(60), {{"XILINX_XRT", FETTLE_XRT_SHIM_FOLDER}});
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_NE(said.out.find("(VTA design zcu104, through XRT): passed"), std::string::npos)
      << said.out << said.err;
}

}  // namespace
}  // namespace fettle::agent
