// .xclbin files, written here field by field: which design they hold, and when they are refused.
#include <gtest/gtest.h>

#include <random>

#include "fpga/xrt/kernel.h"
#include "tests/support/xclbin_file.h"

namespace fettle::vta {
namespace {

using test::configuration_data;
using test::write_xclbin;
using test::XclbinParts;

constexpr std::uint32_t kXc7z020 = 0x03727093, kXczu7ev = 0x04730093;

Design design(const char* name) { return *find_design(name); }
XclbinParts parts_of(const char* name) { return {.kernel = xrt_kernel_name(design(name))}; }

void expect_refused(const XclbinParts& parts, const std::string& words) {
  const auto read = read_xrt_kernel(write_xclbin(parts));
  ASSERT_FALSE(read) << words;
  EXPECT_EQ(read.error().code, ErrorCode::WrongConfiguration);
  EXPECT_NE(read.error().message.find(words), std::string::npos) << read.error().message;
}

TEST(XrtKernel, SaysItsDesign) {
  XclbinParts parts = parts_of("pynq");
  parts.clock_mhz = 125;
  parts.platform = "xilinx_zc702_base";
  for (const Bytes& bitstream : {Bytes(), configuration_data(kXc7z020), Bytes(64, 0x55)}) {
    parts.bitstream = bitstream;
    const auto read = read_xrt_kernel(write_xclbin(parts));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->design.text(), design("pynq").text());
    EXPECT_EQ(read->name, parts.kernel + ":{" + parts.kernel + "_1}");
    EXPECT_EQ(read->platform, parts.platform);
    EXPECT_EQ(read->clock_khz, 125'000u) << "as it was linked, not as the design wishes";
  }
}

TEST(XrtKernel, NamesAreOfIdentities) {
  EXPECT_EQ(xrt_kernel_name(design("pynq")).substr(0, 11), "fettle_vta_");
  EXPECT_EQ(xrt_kernel_name(design("pynq")).size(), 27u);
  EXPECT_NE(xrt_kernel_name(design("pynq")), xrt_kernel_name(design("zcu104")));
}

TEST(XrtKernel, OtherKernels) {
  expect_refused({.kernel = "vadd"}, "its kernels are vadd; accelerators known here are fettle_");
  expect_refused({.kernel = "fettle_vta_0000000000000000"}, "(pynq)");
  expect_refused({.kernel = xrt_kernel_name(design("vta-stock"))}, "its kernels are fettle_vta_");
}

TEST(XrtKernel, AnotherDie) {
  XclbinParts parts = parts_of("zcu104");
  expect_refused(parts, "it is for an xc7z020, and the design 'zcu104' for an xczu7ev");
  parts.part = "zynquplus:xczu7ev:ffvc1156:-2:e";
  EXPECT_TRUE(read_xrt_kernel(write_xclbin(parts)));
  parts.bitstream = configuration_data(kXczu7ev);
  EXPECT_TRUE(read_xrt_kernel(write_xclbin(parts)));
  parts.bitstream = configuration_data(kXc7z020);
  expect_refused(parts, "it is for an xc7z020");
}

TEST(XrtKernel, CutOffAnywhere) {
  XclbinParts parts = parts_of("pynq");
  parts.bitstream = configuration_data(kXc7z020);
  const Bytes whole = write_xclbin(parts);
  ASSERT_TRUE(read_xrt_kernel(whole)) << read_xrt_kernel(whole).error().text();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto read = read_xrt_kernel(ByteView(whole).first(size));
    ASSERT_FALSE(read) << size;
    EXPECT_EQ(read.error().code, ErrorCode::Malformed) << size;
  }
}

// Whatever a file says, it is read or refused.
TEST(XrtKernel, ChangedAnywhere) {
  const Bytes whole = write_xclbin(parts_of("pynq"));
  std::mt19937_64 random(7);
  std::size_t refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    Bytes file = whole;
    for (int i = 0; i < 3; ++i) file[random() % file.size()] = static_cast<std::uint8_t>(random());
    refused += read_xrt_kernel(file) ? 0 : 1;
  }
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace fettle::vta
