// Designs' files: what is read, what is refused, what the identity depends on.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "fpga/config/design.h"
#include "fpga/config/register_map.h"

namespace fettle::vta {
namespace {

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(VtaDesign, BuiltIn) {
  std::set<std::string> names;
  for (const Design& design : designs()) names.insert(design.name);
  EXPECT_EQ(names, (std::set<std::string>{"pynq", "vta-stock", "zcu104"}));
  const auto pynq = find_design("pynq");
  ASSERT_TRUE(pynq) << pynq.error().text();
  // The table of the published default, 1x16_i8w8a32_15_15_18_17.
  const struct {
    Memory memory;
    std::uint32_t element, depth, bits;
  } rows[] = {{Memory::Uop, 4, 8192, 13},
              {Memory::Weight, 256, 1024, 10},
              {Memory::Input, 16, 2048, 11},
              {Memory::Accumulator, 64, 2048, 11},
              {Memory::Output, 16, 2048, 11}};
  for (const auto& row : rows) {
    EXPECT_EQ(pynq->element_bytes(row.memory), row.element) << name_of(row.memory);
    EXPECT_EQ(pynq->depth(row.memory), row.depth) << name_of(row.memory);
    EXPECT_EQ(pynq->index_bits(row.memory), row.bits) << name_of(row.memory);
  }
  EXPECT_EQ(pynq->macs_per_uop(), 256u);
  EXPECT_EQ(find_design("ultra96").error().message,
            "no accelerator design 'ultra96' (there are pynq, vta-stock, zcu104)");
}

TEST(VtaDesign, TextReadsBack) {
  for (const Design& design : designs()) {
    const auto again = parse_design(design.text(), "again");
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->text(), design.text());
  }
}

TEST(VtaDesign, IdentityIsOfValuesAlone) {
  const Design pynq = *find_design("pynq");
  const auto commented =
      parse_design("# a comment\n\n" + with(pynq.text(), "batch = 1", "  batch=1 # one"), "x");
  ASSERT_TRUE(commented) << commented.error().text();
  EXPECT_EQ(to_hex(commented->identity()), to_hex(pynq.identity()));
  std::set<std::string> identities = {to_hex(pynq.identity())};
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"pynq\"", "\"other\""},
           {"clock_khz = 100000", "clock_khz = 125000"},
           {"uop_bytes = 32768", "uop_bytes = 16384"},
           {"token_queue_depth = 1024", "token_queue_depth = 1023"},
           {"command_queue_depth = 512", "command_queue_depth = 256"},
           {"hazard_steps = 0", "hazard_steps = 1"},
           {"xc7z020", "xc7z010"}}) {
    const auto other = parse_design(with(pynq.text(), from, to), "x");
    ASSERT_TRUE(other) << other.error().text();
    EXPECT_TRUE(identities.insert(to_hex(other->identity())).second) << to;
  }
}

TEST(VtaDesign, Refused) {
  const std::string pynq = find_design("pynq")->text(), stock = find_design("vta-stock")->text();
  const struct {
    std::string text, why;
  } rows[] = {
      {"", "x.toml: no name"},
      {with(pynq, "batch = 1\n", ""), "x.toml: no batch"},
      {pynq + "batch = 1\n", "'batch' a second time"},
      {pynq + "speed = 1\n", "line 20: a design has no 'speed'"},
      {pynq + "hello\n", "expected name = value"},
      {with(pynq, "batch = 1", "batch = one"), "line 5: batch is to be a number, not one"},
      {with(pynq, "batch = 1", "batch = -1"), "batch is to be a number"},
      {with(pynq, "batch = 1", "batch = 4294967296"), "batch is to be a number"},
      {with(pynq, "batch = 1", "batch = 3"), "batch is 3, no power of two"},
      {with(pynq, "batch = 1", "batch = 0"), "batch is 0"},
      {with(pynq, "batch = 1", "batch = 1024"), "batch is 1024, too large"},
      {with(pynq, "input_bits = 8", "input_bits = 64"), "numbers are of 32 bits at most"},
      {with(pynq, "\"fettle\"", "\"chisel\""), "core is to be \"fettle\" or \"vta-hls\""},
      {with(pynq, "\"pynq\"", "pynq"), "name is to be a \"string\""},
      {with(pynq, "output_bytes = 32768", "output_bytes = 16384"), "OUT and ACC must hold as many"},
      {with(pynq, "weight_bytes = 262144", "weight_bytes = 256"), "WGT holds too few"},
      {with(pynq, "weight_bytes = 262144", "weight_bytes = 524288"),
       "a micro-op needs 33 bits and has 32"},
      {with(pynq, "uop_bytes = 32768", "uop_bytes = 65536"),
       "the first word of GEMM needs 65 bits"},
      {with(pynq, "weight_bytes = 262144", "weight_bytes = 67108864"), "WGT holds more elements"},
      {with(stock, "bitstream = \"11", "bitstream = \""),
       "bitstream is to be the 64 hexadecimal digits"},
      {with(pynq, "\"fettle\"", "\"vta-hls\""), "bitstream is to be the 64 hexadecimal digits"},
      {with(stock, "\"vta-hls\"", "\"fettle\""), "no bitstream is to be named"},
  };
  for (const auto& row : rows) {
    const auto design = parse_design(row.text, "x.toml");
    ASSERT_FALSE(design) << row.why;
    EXPECT_EQ(design.error().code, ErrorCode::InvalidArgument);
    EXPECT_NE(design.error().message.find(row.why), std::string::npos)
        << design.error().message << "\nexpected: " << row.why;
  }
}

TEST(VtaDesign, BitstreamsSayADesignByTheBeginningOfItsIdentity) {
  for (const Design& design : designs()) {
    const std::uint32_t value = user_access_of(design);
    char text[9];
    std::snprintf(text, sizeof text, "%08x", value);
    EXPECT_EQ(to_hex(design.identity()).substr(0, 8), text);
    EXPECT_EQ(design_of_user_access(value), &design);
  }
  EXPECT_EQ(design_of_user_access(0xffffffff), nullptr);
}

TEST(VtaDesign, AnotherDesignIsRefusedByName) {
  const Design pynq = *find_design("pynq"), stock = *find_design("vta-stock");
  EXPECT_TRUE(check_identity(pynq, "pynq", to_hex(pynq.identity())));
  const auto wrong = check_identity(pynq, stock.name, to_hex(stock.identity()));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::WrongConfiguration);
  EXPECT_EQ(wrong.error().message, "built for the accelerator design 'vta-stock' (" +
                                       to_hex(stock.identity()).substr(0, 12) +
                                       "), but here is 'pynq' (" +
                                       to_hex(pynq.identity()).substr(0, 12) + ")");
}

TEST(VtaDesign, ConfigurationsNameTheDesignAndItsIdentity) {
  const Design pynq = *find_design("pynq"), stock = *find_design("vta-stock");
  const std::string own = configuration_of(pynq);
  EXPECT_EQ(own, "pynq " + to_hex(pynq.identity()));
  EXPECT_TRUE(check_configuration(pynq, own));
  for (const std::string& other : {configuration_of(stock), std::string("pynq"), std::string(),
                                   "pynq " + own.substr(6), own + " "}) {
    const auto wrong = check_configuration(pynq, other);
    ASSERT_FALSE(wrong) << other;
    EXPECT_EQ(wrong.error().code, ErrorCode::WrongConfiguration) << other;
  }
}

// Against the published driver's register writes of the stock core, and within its pages.
TEST(VtaRegisterMap, StartsTheUnitsAfterTheirRegisters) {
  for (const Core core : {Core::Fettle, Core::VtaHls}) {
    const RegisterMap& map = register_map(core);
    std::set<std::uint32_t> written;
    bool started = false;
    for (const RegisterWrite& write : map.launch) {
      EXPECT_LT(write.offset, map.bytes);
      EXPECT_EQ(write.offset % 4, 0u);
      EXPECT_TRUE(written.insert(write.offset).second) << write.offset;
      const bool starts =
          write.value == RegisterValue::Start || write.value == RegisterValue::StartForever;
      EXPECT_TRUE(starts || !started) << "a register is set before anything runs";
      started = started || starts;
    }
    EXPECT_TRUE(started);
    EXPECT_EQ(map.identity.has_value(), core == Core::Fettle);
    EXPECT_EQ(map.identity.has_value(),
              find_design(core == Core::Fettle ? "pynq" : "vta-stock")->bitstream.empty());
  }
  std::map<std::uint64_t, std::uint32_t> stock;
  const RegisterMap& map = register_map(Core::VtaHls);
  for (const RegisterWrite& write : map.launch) {
    stock[map.base + write.offset] = register_value(write.value, 12, 0x10000000);
  }
  const std::map<std::uint64_t, std::uint32_t> expected = {
      {0x43c00010, 12},   {0x43c00018, 0x10000000}, {0x43c01010, 0},   {0x43c01018, 0},
      {0x43c02020, 0},    {0x43c02028, 0},          {0x43c03010, 0},   {0x43c00000, 0x01},
      {0x43c01000, 0x81}, {0x43c02000, 0x81},       {0x43c03000, 0x81}};
  EXPECT_EQ(stock, expected);
  EXPECT_EQ(map.base + map.done.offset, 0x43c02018u);
}

}  // namespace
}  // namespace fettle::vta
