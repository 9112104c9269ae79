// The accelerator in the programmable logic of an emulated Pynq, as `./dev emulate pynq --fpga
// --check` tries it. Skips where its QEMU, its image or what runs in it has not been made: that
// takes minutes.
#include <gtest/gtest.h>
#include <filesystem>

#include "tests/support/running_program.h"

namespace fettle {
namespace {

using testing::run_program;

// What is missing, or empty.
std::string missing() {
  const std::string folder = FETTLE_BOARD_IMAGES, agents = FETTLE_AGENTS;
  if (run_program({folder + "/image.sh", "pynq", "--print"}).status != 0) return "image";
  if (run_program({FETTLE_QEMU_BUILD, "--print"}).status != 0) return "QEMU with an FPGA";
  for (const char* program : {"fettle-agent", "fettle-pl-check", "fpga_conformance_test"}) {
    if (!std::filesystem::exists(agents + "/armv7/" + program)) return program;
  }
  return run_program({"which", "socat"}).status != 0 ? "socat" : "";
}

TEST(EmulatedFpga, TunesOnBothRegisterMapsAndSurvivesFaults) {
  if (const std::string what = missing(); !what.empty()) {
    GTEST_SKIP() << "no " << what
                 << " of the emulated Pynq with an FPGA: `./dev emulate pynq --fpga "
                 << "--check` brings it";
  }
  testing::ScratchFolder folder;
  const auto done = run_program({std::string(FETTLE_BOARD_IMAGES) + "/qemu/check_fpga.sh", "pynq",
                                 "--trials", "4", "--out", folder.file("out")},
                                std::chrono::seconds(400),
                                {{"FETTLE_PROGRAM", FETTLE_PROGRAM},
                                 {"FETTLE_AGENT_FOLDER", FETTLE_AGENTS},
                                 {"FETTLE_ACCELERATOR_CHECK", FETTLE_ACCELERATOR_CHECK}});
  EXPECT_EQ(done.status, 0) << done.out << done.err;
  EXPECT_EQ(done.out.find("NO: "), std::string::npos) << done.out;
  for (const char* words :
       {"yes: the state is operating", "yes: pynq: memory is as the simulator leaves it",
        "yes: vta-stock: memory is as the simulator leaves it",
        "yes: the devices' conformance suite", "yes: cut.bit is refused", "A session on pynq",
        "A session on vta-stock", "yes: the PL was programmed once",
        "yes: a stream that meets a core that hangs: RunTimeout",
        "yes: a stream that loses the logic that it runs on: DeviceLost"}) {
    EXPECT_NE(done.out.find(words), std::string::npos) << words << " not in\n" << done.out;
  }
}

}  // namespace
}  // namespace fettle
