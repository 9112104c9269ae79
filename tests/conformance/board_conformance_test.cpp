// The suite on an accelerator in programmable logic, which is played: the device, the FPGA helper,
// its drivers' files and the registers are those of a board.
#include "agent/device/vta/vta_core.h"
#include "tests/conformance/vta_kind.h"
#include "tests/support/played_helper.h"

namespace fettle::agent {
namespace {

// One for all tests, as a board is; it ends with the program.
test::PlayedHelper& helper() {
  static test::PlayedBoard board;
  static test::PlayedHelper helper(
      board, {{"conformance", board.wanted("pynq"), test::PlayedBoard::kBytes, false}});
  static test::PlayedHelper& started = helper.start();
  return started;
}

std::string nothing() { return ""; }

INSTANTIATE_TEST_SUITE_P(, Conformance,
                         ::testing::Values(vta_kind("VtaBoard", kBoardCore, nothing,
                                                    helper().address())),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Conformance, TellsWhatIsLoaded) {
  ASSERT_TRUE(device->info().fpga->bitstream);
  EXPECT_EQ(device->info().memory_limit_bytes, test::PlayedBoard::kBytes);
  EXPECT_FALSE(device->exact());
}

}  // namespace
}  // namespace fettle::agent
