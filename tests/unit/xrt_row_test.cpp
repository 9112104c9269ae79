// Accelerators through XRT as the agent's options name them, and as it describes them.
#include <gtest/gtest.h>

#include <fstream>

#include "agent/device/registry.h"
#include "agent/device/xrt/xrt_row.h"
#include "agent/server/options.h"
#include "fpga/xrt/kernel.h"
#include "tests/support/running_program.h"
#include "tests/support/xclbin_file.h"

namespace fettle::agent {
namespace {

class XrtRow : public ::testing::Test {
 protected:
  Result<AgentOptions> options(std::vector<std::string> more) {
    std::vector<std::string> all = {"--broker", "tcp://h:1", "--broker-key",  "k",  "--key-fd", "3",
                                    "--key",    "alveo",     "--device-kind", "xrt"};
    all.insert(all.end(), more.begin(), more.end());
    return parse_options(all);
  }
  std::string put(const Bytes& bytes) {
    const std::string path = folder.path() + "/" + std::to_string(++files) + ".xclbin";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  std::string message(std::vector<std::string> more) {
    const auto out = options(std::move(more));
    return out ? "" : out.error().message;
  }
  fettle::testing::ScratchFolder folder;
  int files = 0;
  test::XclbinParts parts{.kernel = vta::xrt_kernel_name(*vta::find_design("pynq")),
                          .clock_mhz = 90};
};

TEST_F(XrtRow, TheFileDescribesTheDevice) {
  const auto out = options({"--xrt-xclbin", put(test::write_xclbin(parts)), "--xrt-device",
                            "0000:03:00.1", "--memory-limit", "64"});
  ASSERT_TRUE(out) << out.error().text();
  const DeviceRow& row = *find_device_row(wire::DeviceKind::Xrt);
  EXPECT_EQ(std::get<WorkerProgram>(row.worker), WorkerProgram::Gpu);
  const auto info = row.describe(out->devices[0], SystemRoot());
  EXPECT_EQ(info.kind, wire::DeviceKind::Xrt);
  EXPECT_EQ(info.name, "VTA design pynq, through XRT");
  EXPECT_EQ(info.clock_hz, 90e6) << "as it was linked";
  EXPECT_EQ(info.fpga->clock_khz, 90'000u);
  EXPECT_EQ(info.fpga->part, "xc7z020");
  EXPECT_EQ(info.fpga->configuration, vta::configuration_of(*vta::find_design("pynq")));
  EXPECT_EQ(info.memory_limit_bytes, 64u << 20);
  ASSERT_EQ(info.extra.size(), 2u);
  EXPECT_EQ(info.extra[0]->value, "0000:03:00.1");
}

TEST_F(XrtRow, WrongFilesAreRefusedInALine) {
  EXPECT_EQ(message({"--xrt-xclbin", "/nowhere/a.xclbin"}),
            "--xrt-xclbin /nowhere/a.xclbin: cannot be read: No such file or directory");
  const std::string text = put({'h', 'e', 'l', 'l', 'o'});
  EXPECT_EQ(message({"--xrt-xclbin", text}),
            "--xrt-xclbin " + text + ": .xclbin: it does not begin as one");
  parts.part = "virtexuplus:xcu250:figd2104:-2L:e";
  const std::string other = put(test::write_xclbin(parts));
  EXPECT_EQ(
      message({"--xrt-xclbin", other}),
      "--xrt-xclbin " + other + ": it is for an xcu250, and the design 'pynq' for an xc7z020");
  EXPECT_EQ(message({"--xrt-device", "first"}),
            "--xrt-device takes a number from 0 or a PCI address, not 'first'");
  EXPECT_EQ(message({"--xrt-library", ""}),
            "--xrt-library takes names or paths, with commas between");
}

// Its worker says what it needs.
TEST_F(XrtRow, WithoutAFileItIsDescribedAllTheSame) {
  const auto out = options({});
  ASSERT_TRUE(out) << out.error().text();
  const auto info = describe_xrt(out->devices[0], SystemRoot());
  EXPECT_EQ(info.kind, wire::DeviceKind::Xrt);
  EXPECT_EQ(xrt_self_test(info).program.launches.size(), 1u);
}

}  // namespace
}  // namespace fettle::agent
