// An accelerator through the real libxrt_coreutil, on the card that xrt_shim.cpp plays: kernels run
// there, hang, and fail.
#include <gtest/gtest.h>
#include <algorithm>
#include <cstdlib>

#include "fpga/xrt/kernel.h"
#include "runtime/loaded_program.h"
#include "runtime/vta/simulated_accelerator.h"
#include "runtime/vta/vta_executor.h"
#include "runtime/vta/vta_image.h"
#include "runtime/vta/vta_memory.h"
#include "runtime/xrt/xrt_accelerator.h"
#include "tests/support/vta_candidates.h"
#include "tests/support/xclbin_file.h"
#include "tests/support/xrt_shim.h"

namespace fettle::runtime {
namespace {

using namespace test;

constexpr std::uint64_t kMemoryBytes = std::uint64_t{8} << 20;

Result<std::unique_ptr<Accelerator>> open(const XclbinParts& parts, const char* device = "0") {
  setenv("XILINX_XRT", FETTLE_XRT_SHIM_FOLDER, 1);
  return make_xrt_accelerator({"libxrt_coreutil.so.2", device, kMemoryBytes}, write_xclbin(parts));
}
XclbinParts pynq() { return {.kernel = vta::xrt_kernel_name(*vta::find_design("pynq"))}; }

std::unique_ptr<Accelerator> open_pynq() {
  auto opened = open(pynq());
  EXPECT_TRUE(opened) << opened.error().text();
  return opened ? std::move(*opened) : nullptr;
}

// With the card made worse.
std::string refusal(const char* fault, const XclbinParts& parts = pynq(),
                    const char* device = "0") {
  if (fault) setenv("FETTLE_XRT_SHIM", fault, 1);
  const auto opened = open(parts, device);
  unsetenv("FETTLE_XRT_SHIM");
  if (opened) return "opened";
  const std::string said =
      std::string(fettle::name_of(opened.error().code)) + ": " + opened.error().text();
  std::printf("             %s\n", said.c_str());
  return said;
}

void expect_words(const std::string& text, const std::string& words) {
  EXPECT_NE(text.find(words), std::string::npos) << text;
}

// Cycles and output of kGood or another candidate, loaded as an agent does it.
struct Ran {
  std::uint64_t cycles = 0;
  Bytes output;
};
Ran run_candidate(Accelerator& accelerator, CandidateKind kind) {
  Arena arena(accelerator.memory());
  VtaMemory memory(arena);
  VtaLoader loader(accelerator.design());
  VtaExecutor executor(accelerator, arena);
  const Kind kinds[] = {{wire::ImageKind::VtaStream, loader, executor}};
  auto loaded = LoadedProgram::load(vta_candidate_program(kind), memory, kinds, vta_candidate_blob);
  EXPECT_TRUE(loaded) << loaded.error().text();
  if (!loaded) return {};
  const auto cycles = loaded->run(1);
  EXPECT_TRUE(cycles) << cycles.error().text();
  EXPECT_EQ(*loaded->buffers()[1]->damage(), "");
  const auto output = loaded->buffers()[1]->data();
  return {cycles ? *cycles : 0, Bytes(output.begin(), output.end())};
}

// A run of so many instructions, whatever they are: how the card shall fail.
Result<std::uint64_t> run_of(Accelerator& accelerator, std::uint32_t instructions) {
  return accelerator.run(accelerator.memory().address, instructions, 100'000);  // 1 ms
}

TEST(XrtAccelerator, MemoryIsOneBufferOfTheKernelsBank) {
  const auto accelerator = open_pynq();
  ASSERT_TRUE(accelerator);
  const ContiguousMemory& memory = accelerator->memory();
  EXPECT_GE(memory.bytes.size(), kMemoryBytes);
  EXPECT_NE(memory.address, 0u);
  EXPECT_EQ(memory.address % 4096, 0u);
  EXPECT_LT(memory.address + memory.bytes.size(), std::uint64_t{1} << 32);
  EXPECT_FALSE(accelerator->exact());
  EXPECT_EQ(accelerator->design().name, "pynq");
}

TEST(XrtAccelerator, ComputesWhatTheSimulatorComputes) {
  const auto accelerator = open_pynq();
  ASSERT_TRUE(accelerator);
  const auto simulator = make_simulated_accelerator(*vta::find_design("pynq"), kMemoryBytes);
  ASSERT_TRUE(simulator);
  for (const CandidateKind kind : {kGood, kSlow, kGood}) {
    const Ran here = run_candidate(*accelerator, kind), there = run_candidate(**simulator, kind);
    EXPECT_EQ(here.cycles, there.cycles);
    EXPECT_EQ(here.output, there.output);
    EXPECT_EQ(here.output, vta_candidate_answer());
  }
}

TEST(XrtAccelerator, AnEndlessRunIsStopped) {
  const auto accelerator = open_pynq();
  ASSERT_TRUE(accelerator);
  const auto ran = run_of(*accelerator, kXrtShimEndless);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::RunTimeout);
  EXPECT_EQ(ran.error().message, "the kernel is not done after 1001 ms");
  EXPECT_FALSE(accelerator->lost());
  EXPECT_EQ(run_candidate(*accelerator, kGood).output, vta_candidate_answer());
}

TEST(XrtAccelerator, OneThatDoesNotStopIsLost) {
  {
    const auto accelerator = open_pynq();
    ASSERT_TRUE(accelerator);
    const auto ran = run_of(*accelerator, kXrtShimStuck);
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().code, ErrorCode::RunTimeout);
    expect_words(ran.error().message, "and does not stop: the device is opened anew");
    EXPECT_TRUE(accelerator->lost());
  }
  const auto again = open_pynq();
  ASSERT_TRUE(again);
  EXPECT_EQ(run_candidate(*again, kGood).output, vta_candidate_answer());
}

TEST(XrtAccelerator, XrtsOwnFailuresAreNamed) {
  const auto accelerator = open_pynq();
  ASSERT_TRUE(accelerator);
  const auto ran = run_of(*accelerator, kXrtShimRefused);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::WorkerLost);
  EXPECT_EQ(ran.error().message, "xrtRunWaitFor: ERT_CMD_STATE_ERROR");
  EXPECT_TRUE(accelerator->lost());
}

// The stream is kGood's with some that do nothing before its end.
TEST(XrtAccelerator, ErrorsOfTheBusAreTheCores) {
  const auto accelerator = open_pynq();
  ASSERT_TRUE(accelerator);
  const vta::Encoding encoding(accelerator->design());
  std::vector<vta::Word> words(kXrtShimBusError - 1,
                               *encoding.encode({{}, vta::Load{{vta::Memory::Uop}}}));
  words.push_back(*encoding.encode({{}, vta::Finish{}}));
  const Bytes bytes = vta::bytes_of(words);
  std::copy(bytes.begin(), bytes.end(), accelerator->memory().bytes.begin());
  const auto ran = run_of(*accelerator, kXrtShimBusError);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::Internal);
  expect_words(ran.error().message, "the core ended with errors 2");
  EXPECT_FALSE(accelerator->lost());
}

TEST(XrtAccelerator, RefusalsSayWhatAndWhere) {
  expect_words(refusal("none"), "NotFound: xrtDeviceOpen: Could not open device with index '0'");
  expect_words(refusal(nullptr, pynq(), "7"), "NotFound: xrtDeviceOpen: ");
  expect_words(refusal("shell"), "LoadError: xrtDeviceLoadXclbin: failed to load xclbin");
  expect_words(refusal("shell"), "loading an .xclbin for the platform fettle_stand_in");
  expect_words(refusal("small"), "OutOfMemory: xrtBOAlloc");
  expect_words(refusal("across"), "OutOfMemory: XRT's buffer lies across a multiple of 4 GiB");
  expect_words(refusal("identity"), "WrongConfiguration: the kernel is of the design 'pynq'");
  expect_words(refusal(nullptr, {.kernel = "vadd"}), "WrongConfiguration: its kernels are vadd");
  EXPECT_EQ(refusal(nullptr), "opened");
}

TEST(XrtAccelerator, NoLibrary) {
  const auto opened = make_xrt_accelerator({"libno_xrt.so.2,/opt/libno_xrt.so", "0", kMemoryBytes},
                                           write_xclbin(pynq()));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::NotFound);
  expect_words(opened.error().message, "no XRT here: libno_xrt.so.2");
}

// XRT would end the process.
TEST(XrtAccelerator, NoDriverOfADevice) {
  setenv("XILINX_XRT", "/nowhere", 1);
  auto opened =
      make_xrt_accelerator({"libxrt_coreutil.so.2", "0", kMemoryBytes}, write_xclbin(pynq()));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message,
            "XILINX_XRT names no folder of XRT with a device's driver: no "
            "/nowhere/lib/libxrt_core.so.2");
  unsetenv("XILINX_XRT");
  opened = make_xrt_accelerator({"libxrt_coreutil.so.2", "0", kMemoryBytes}, write_xclbin(pynq()));
  setenv("XILINX_XRT", FETTLE_XRT_SHIM_FOLDER, 1);
  if (opened) GTEST_SKIP() << "this machine has XRT where a card's is";
  expect_words(opened.error().message,
               "XILINX_XRT is not set, and XRT's driver of a device is not where XRT looks");
}

}  // namespace
}  // namespace fettle::runtime
