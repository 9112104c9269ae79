// Writing .xclbin files (xclbin_file.h). Numbers are little-endian; the names in comments are those
// of XRT's xclbin.h.
#include "tests/support/xclbin_file.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "fpga/xrt/kernel.h"
#include "tests/support/xrt_shim.h"

namespace fettle::test {
namespace {

// Appends fields one after the other.
class Fields {
 public:
  Fields& number(std::uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; ++i) bytes.push_back(static_cast<std::uint8_t>(value >> 8 * i));
    return *this;
  }
  Fields& text(const std::string& value, std::size_t width) {
    bytes.insert(bytes.end(), value.begin(), value.end());
    bytes.resize(bytes.size() + width - value.size());
    return *this;
  }
  Bytes bytes;
};

constexpr std::uint64_t kRegisters = 0x1800000;

std::string argument(int number, const char* name, const char* type, int bytes, bool pointer) {
  char text[256];
  std::snprintf(text, sizeof text,
                "<arg name=\"%s\" addressQualifier=\"%d\" id=\"%d\" port=\"%s\" size=\"%d\" "
                "offset=\"0x%x\" hostOffset=\"0x0\" hostSize=\"%d\" type=\"%s\"/>",
                name, pointer ? 1 : 0, number, pointer ? "m_axi" : "s_axi_control", bytes,
                vta::kXrtArgumentOffsets[number], bytes, type);
  return text;
}

// EMBEDDED_METADATA, as Vitis writes it from fpga/vivado/kernel.tcl's kernel.
std::string metadata(const XclbinParts& parts) {
  return "<project name=\"stand_in\"><platform vendor=\"fettle\"><device name=\"fpga0\" "
         "fpgaDevice=\"" +
         parts.part + "\"><core name=\"OCL_REGION_0\"><kernel name=\"" + parts.kernel +
         "\" language=\"ip\" type=\"pl\">"
         "<port name=\"m_axi\" mode=\"master\" range=\"0xFFFFFFFF\" dataWidth=\"64\"/>"
         "<port name=\"s_axi_control\" mode=\"slave\" range=\"0x1000\" dataWidth=\"32\"/>" +
         argument(vta::kXrtInstructionCount, "instruction_count", "uint", 4, false) +
         argument(vta::kXrtInstructionAddress, "instruction_address", "uint", 4, false) +
         argument(vta::kXrtMemory, "memory", "void*", 8, true) + "<instance name=\"" +
         parts.kernel +
         "_1\"><addrRemap base=\"0x1800000\" range=\"0x1000\" "
         "port=\"s_axi_control\"/></instance></kernel></core></device></platform></project>";
}

}  // namespace

Bytes write_xclbin(const XclbinParts& parts) {
  struct Section {
    std::uint32_t kind;  // axlf_section_kind
    Bytes bytes;
  };
  const std::string xml = metadata(parts);
  std::vector<Section> sections = {
      {2, Bytes(xml.begin(), xml.end())},
      // ip_layout: IP_KERNEL, AP_CTRL_HS.
      {8, Fields()
              .number(1, 8)
              .number(1, 4)
              .number(0, 4)
              .number(kRegisters, 8)
              .text(parts.kernel + ":" + parts.kernel + "_1", 64)
              .bytes},
      // mem_topology: one bank of 4 GiB, MEM_DDR4, used.
      {6, Fields()
              .number(1, 8)
              .number(1, 1)
              .number(1, 1)
              .number(0, 6)
              .number(4 << 20, 8)
              .number(kXrtShimMemory, 8)
              .text("bank0", 16)
              .bytes},
      // connectivity: argument, IP, memory.
      {7, Fields().number(1, 4).number(vta::kXrtMemory, 4).number(0, 4).number(0, 4).bytes},
      // clock_freq_topology: CT_SYSTEM, then CT_DATA.
      {11, Fields()
               .number(2, 2)
               .number(50, 2)
               .number(3, 6)
               .text("clk_out2", 128)
               .number(parts.clock_mhz, 2)
               .number(1, 6)
               .text("clk_out1", 128)
               .bytes},
  };
  if (!parts.bitstream.empty()) sections.push_back({0, parts.bitstream});

  Fields file;
  file.text("xclbin2", 8).number(~std::uint64_t{0}, 4);
  file.bytes.resize(40, 0xff);
  file.bytes.resize(296);
  file.number(1, 8);  // m_uniqueId
  const std::size_t length_at = file.bytes.size();
  file.number(0, 8).text("", 24).text("", 16).text(parts.platform, 64);
  // The UUID tells files apart.
  file.number(0xfe77'1e00 + parts.clock_mhz, 8).number(1, 8).text("", 16);
  file.number(sections.size(), 8);
  std::size_t at = file.bytes.size() + 40 * sections.size();
  for (const Section& section : sections) {
    at = (at + 7) / 8 * 8;
    file.number(section.kind, 4).text("", 20).number(at, 8).number(section.bytes.size(), 8);
    at += section.bytes.size();
  }
  for (const Section& section : sections) {
    file.bytes.resize((file.bytes.size() + 7) / 8 * 8);
    file.bytes.insert(file.bytes.end(), section.bytes.begin(), section.bytes.end());
  }
  const Bytes length = Fields().number(file.bytes.size(), 8).bytes;
  std::copy(length.begin(), length.end(),
            file.bytes.begin() + static_cast<std::ptrdiff_t>(length_at));
  return file.bytes;
}

Bytes configuration_data(std::uint32_t idcode) {
  Bytes out(16, 0xff);
  for (const std::uint32_t word : {0xaa995566u, 0x20000000u, 0x30018001u, idcode, 0x30008001u, 1u,
                                   0x30004000u, 0x50000001u, 0u, 0x30008001u, 0xdu, 0x20000000u}) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      out.push_back(static_cast<std::uint8_t>(word >> shift));
    }
  }
  return out;
}

}  // namespace fettle::test
