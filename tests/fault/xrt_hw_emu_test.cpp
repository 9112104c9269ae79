// Buffers through the real libxrt_coreutil and its libxrt_hwemu, which needs no card: what is
// synced to the device comes back. Kernels need a simulation by Vitis there. A program of its own:
// XRT takes one driver in a process.
#include <gtest/gtest.h>
#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/xrt/xrt_driver.h"
#include "tests/support/running_program.h"

namespace fettle::runtime {
namespace {

class XrtHwEmu : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(chdir(folder.path().c_str()), 0);  // the emulation leaves files
    setenv("XILINX_XRT", FETTLE_XRT_HW_EMU_FOLDER, 1);
    setenv("XCL_EMULATION_MODE", "hw_emu", 1);
  }
  void TearDown() override { ASSERT_EQ(chdir("/"), 0); }
  fettle::testing::ScratchFolder folder;
};

TEST_F(XrtHwEmu, BuffersGoThereAndBack) {
  auto loaded = XrtDriver::load("libxrt_coreutil.so.2");
  ASSERT_TRUE(loaded) << loaded.error().text();
  const XrtCalls& call = (*loaded)->call();
  const auto device = call.DeviceOpen(0);
  ASSERT_TRUE(device) << (*loaded)->error(ErrorCode::NotFound, "xrtDeviceOpen").text();
  constexpr std::size_t kBytes = 1 << 20;
  const auto buffer = call.BOAlloc(device, kBytes, 0, 0);
  ASSERT_TRUE(buffer) << (*loaded)->error(ErrorCode::OutOfMemory, "xrtBOAlloc").text();
  auto* mapped = static_cast<std::uint8_t*>(call.BOMap(buffer));
  ASSERT_TRUE(mapped);
  for (std::size_t i = 0; i < kBytes; ++i) mapped[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
  const std::vector<std::uint8_t> sent(mapped, mapped + kBytes);
  ASSERT_EQ(call.BOSync(buffer, kXrtToDevice, kBytes, 0), 0);
  std::memset(mapped, 0, kBytes);
  ASSERT_EQ(call.BOSync(buffer, kXrtFromDevice, 8192, 0), 0);
  EXPECT_TRUE(std::equal(mapped, mapped + 8192, sent.begin()));
  EXPECT_TRUE(std::all_of(mapped + 8192, mapped + kBytes, [](auto byte) { return byte == 0; }));
  ASSERT_EQ(call.BOSync(buffer, kXrtFromDevice, kBytes, 0), 0);
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), mapped));
  EXPECT_EQ(call.BOFree(buffer), 0);
  EXPECT_EQ(call.DeviceClose(device), 0);
}

// Its own words, which it would else only log.
TEST_F(XrtHwEmu, ErrorsAreInItsWords) {
  auto loaded = XrtDriver::load("libxrt_coreutil.so.2");
  ASSERT_TRUE(loaded);
  int no_device = 0;
  EXPECT_FALSE((*loaded)->call().BOAlloc(&no_device, 4096, 0, 0));
  EXPECT_EQ((*loaded)->error(ErrorCode::OutOfMemory, "xrtBOAlloc").message,
            "xrtBOAlloc: No such handle: Invalid argument");
  EXPECT_EQ(name_of_run_state(6), "ERT_CMD_STATE_ABORT");
  EXPECT_EQ(name_of_run_state(99), "99");
}

}  // namespace
}  // namespace fettle::runtime
