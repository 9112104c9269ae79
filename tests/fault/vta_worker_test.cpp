// Good and evil streams on a simulated accelerator in a real worker: each ends as the failure it
// deserves and the next one is measured as if nothing had been.
#include <gtest/gtest.h>
#include <cstring>

#include "agent/device/registry.h"
#include "agent/device/vta/vta_device.h"
#include "tests/support/vta_station.h"

namespace fettle::agent {
namespace {

using namespace test;

wire::DeviceInfoT vta_device() {
  DeviceConfig config;
  config.key = "vta-sim";
  config.kind = wire::DeviceKind::Vta;
  config.memory_limit_bytes = std::uint64_t{16} << 20;
  return describe_vta(config, SystemRoot());
}

class VtaWorker : public ::testing::Test {
 protected:
  static inline std::unique_ptr<VtaStation> station;
  void SetUp() override {
    if (!station) station = std::make_unique<VtaStation>(vta_device());
    ASSERT_TRUE(station->pump([] { return station->queues[0]->ready(); }))
        << station->queues[0]->refusal();
  }
  void TearDown() override {
    EXPECT_EQ(VtaStation::said(station->outcome(vta_candidate_program(kGood))), "measured");
  }
  static void TearDownTestSuite() { station.reset(); }
  static void expect(wire::ProgramT program, const std::string& begin, const std::string& words) {
    const std::string said = VtaStation::said(station->outcome(std::move(program)));
    EXPECT_EQ(said.rfind(begin, 0), 0u) << said;
    EXPECT_NE(said.find(words), std::string::npos) << said;
    std::printf("             %s\n", said.c_str());
  }
  template <typename Change>
  static void expect_of(Change change, const std::string& begin, const std::string& words) {
    auto stream = vta_good_stream();
    change(stream);
    expect(vta_program_of(stream), begin, words);
  }
};

TEST_F(VtaWorker, SaysWhatItIs) {
  const wire::DeviceInfoT& info = station->queues[0]->info();
  EXPECT_EQ(info.name, "VTA design pynq, simulated");
  EXPECT_EQ(info.clock, wire::ClockDomain::AcceleratorCycles);
  EXPECT_EQ(info.clock_hz, 1e8);
  EXPECT_TRUE(info.emulated);
  ASSERT_TRUE(info.fpga);
  EXPECT_EQ(info.fpga->part, "xc7z020");
  EXPECT_EQ(info.fpga->configuration, vta::configuration_of(*vta::find_design("pynq")));
  EXPECT_EQ(info.fpga->clock_khz, 100'000u);
}
TEST_F(VtaWorker, OneSampleOfOneRunInCycles) {
  const auto outcome = station->outcome(vta_candidate_program(kGood));
  const auto* measured = outcome.body.AsMeasurement();
  ASSERT_TRUE(measured) << VtaStation::said(outcome);
  EXPECT_EQ(measured->clock, wire::ClockDomain::AcceleratorCycles);
  EXPECT_EQ(measured->ticks_per_second, 1e8);
  ASSERT_EQ(measured->samples.size(), 1u);
  EXPECT_EQ(measured->samples[0].runs(), 1u);
  EXPECT_EQ(measured->median, static_cast<double>(measured->samples[0].ticks()));
  const auto again = station->outcome(vta_candidate_program(kGood));
  ASSERT_TRUE(again.body.AsMeasurement());
  EXPECT_EQ(again.body.AsMeasurement()->median, measured->median);
}
// What the simulator needs for it is not the candidate's.
TEST_F(VtaWorker, ALongStreamTakesTheSimulatorsMemoryOnly) {
  auto stream = vta_good_stream();
  auto reset = stream[kReset];
  reset.tokens = {};
  stream.insert(stream.begin() + kReset + 1, 60'000, reset);
  EXPECT_EQ(VtaStation::said(station->outcome(vta_program_of(stream))), "measured");
}
TEST_F(VtaWorker, AnotherDesignsProgram) {
  auto program = vta_candidate_program(kGood);
  program.images[0]->configuration = vta::configuration_of(*vta::find_design("vta-stock"));
  expect(std::move(program), "Load WrongConfiguration", "'vta-stock'");
}
TEST_F(VtaWorker, StoresBehindItsOutput) {
  expect(vta_candidate_program(kWriteBehind), "Load Malformed", "instruction 6 (STORE");
}
TEST_F(VtaWorker, StoresToItsInput) {
  auto program = vta_candidate_program(kGood);
  program.launches[0]->relocations[3] = {kStore, 0, 0};
  expect(std::move(program), "Load Malformed", "input buffer 'data', which is only read");
}
TEST_F(VtaWorker, NamesAnAddressItself) {
  expect_of([](auto& s) { std::get<vta::Store>(s[kStore].body).dram_base = 0x100'0000; },
            "Load Malformed", "address in DRAM already");
}
TEST_F(VtaWorker, HasATokenTooMany) {
  expect_of([](auto& s) { s[kLoadInput].tokens.push_next = true; }, "Load Malformed", "token");
}
TEST_F(VtaWorker, WaitsForever) {
  expect_of([](auto& s) { s[kMultiplyAgain].tokens.push_next = false; }, "Load Malformed",
            "instruction 6");
}
TEST_F(VtaWorker, NeverFinishes) {
  expect_of([](auto& s) { s.pop_back(); }, "Load Malformed", "FINISH");
}
TEST_F(VtaWorker, IsNoInstruction) {
  auto program = vta_program_of(vta_good_stream());
  program.images[0]->bytes[16 * kReset] |= 7;
  expect(std::move(program), "Load Malformed", "instruction 3: unknown opcode 7");
}
TEST_F(VtaWorker, IsCutOff) {
  auto program = vta_program_of(vta_good_stream());
  program.images[0]->bytes.resize(16 * 8 + 5);
  expect(std::move(program), "Dispatch Malformed", "ends within an instruction");
}
TEST_F(VtaWorker, RelocatesBeyondItsInstructionsAndBuffers) {
  const struct {
    wire::Relocation relocation;
    const char *begin, *words;
  } hostile[] = {
      {{9, 1, 0}, "Dispatch Malformed", "outside of its instructions"},
      {{~0u, 1, 0}, "Dispatch Malformed", "outside of its instructions"},
      {{kStore, 4, 0}, "Dispatch Malformed", "outside of its buffer"},
      {{kStore, ~0u, 0}, "Dispatch Malformed", "outside of its buffer"},
      {{kStore, 1, 4096}, "Dispatch Malformed", "outside of its buffer"},
      {{kStore, 1, ~std::uint64_t{15}}, "Dispatch Malformed", "outside of its buffer"},
      {{kStore, 1, 4080}, "Load Malformed", "which lie in none of its buffers"},
      {{kStore, 1, 7}, "Load Malformed", "no address of OUT elements"},
  };
  for (const auto& [relocation, begin, words] : hostile) {
    auto program = vta_program_of(vta_good_stream());
    program.launches[0]->relocations[3] = relocation;
    expect(std::move(program), begin, words);
  }
}
TEST_F(VtaWorker, RelocatesAGemm) {
  auto program = vta_program_of(vta_good_stream());
  auto& relocations = program.launches[0]->relocations;
  relocations.insert(relocations.begin() + 3, wire::Relocation(kReset, 1, 0));
  expect(std::move(program), "Load Malformed", "moves nothing");
}
TEST_F(VtaWorker, ReadsWhatNothingHasWritten) {
  expect_of([](auto& s) { std::get<vta::Gemm>(s[kReset].body).iter_in -= 1; }, "Load Malformed",
            "ACC");
}
TEST_F(VtaWorker, IsWrong) {
  expect_of([](auto& s) { s[kMultiplyAgain].body = s[kReset].body; }, "Check WrongAnswer",
            "elements are wrong");
}
TEST_F(VtaWorker, LeavesPartOfItsOutput) {
  expect_of([](auto& s) { std::get<vta::Store>(s[kStore].body).x_size -= 5; },
            "Check UnwrittenOutput", "");
}
TEST_F(VtaWorker, TakesTooManySteps) {
  expect_of(
      [](auto& s) {
        const vta::Loops most{.uop_end = 1, .iter_out = 16383, .iter_in = 16383};
        for (int i = 0; i < 4; ++i) s.insert(s.begin() + kReset, {{}, vta::Gemm{most, true}});
      },
      "Load RunTimeout", "cycles");
}
TEST_F(VtaWorker, IsStillAtWorkAtItsTimeLimit) {
  auto stream = vta_good_stream();
  // Runs for some 15 times the limit. More only keeps the verifier, which ASan slows.
  const vta::Loops many{.uop_end = 1, .iter_out = 1024, .iter_in = 8192};
  stream.insert(stream.begin() + kReset, {{}, vta::Gemm{many, true}});
  auto request = station->request(vta_program_of(stream));
  request.options->timeout_ms = 20;
  const std::string said = VtaStation::said(station->wait_for(station->submit(request)));
  EXPECT_EQ(said.rfind("Run RunTimeout", 0), 0u) << said;
  ASSERT_TRUE(station->pump([] { return station->queues[0]->ready(); })) << "a fresh worker";
}
TEST_F(VtaWorker, SelfTestsProgramRuns) {
  for (const char* design : {"pynq", "vta-stock"}) {
    DeviceConfig config;
    config.key = "vta-sim";
    config.settings[kVtaDesign] = design;
    const auto info = describe_vta(config, SystemRoot());
    auto device = open_vta(info);
    ASSERT_TRUE(device) << device.error().text();
    const SelfTestProgram test = vta_self_test(info);
    const auto prepared = (*device)->prepare(test.program, {}, {});
    ASSERT_TRUE(prepared) << prepared.error().text();
    ASSERT_TRUE((*device)->run(1));
    const auto output = (*device)->read(3);
    ASSERT_TRUE(output);
    ASSERT_EQ(output->size(), test.answer.size() * sizeof(float));
    EXPECT_EQ(std::memcmp(output->data(), test.answer.data(), output->size()), 0) << design;
  }
}

}  // namespace
}  // namespace fettle::agent
