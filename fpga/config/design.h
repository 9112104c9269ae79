// A design: one configuration of the VTA accelerator, as its file (fpga/config/NAME.toml) says it.
// Its identity is what host, agent and bitstream must agree on.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/wire/content_hash.h"
#include "schemas/wire/result.h"

namespace fettle::vta {

// On-chip memories, by their ids in instructions.
enum class Memory : std::uint8_t { Uop, Weight, Input, Accumulator, Output };
inline constexpr std::size_t kMemories = 5;
const char* name_of(Memory memory);  // "UOP", "WGT", "INP", "ACC", "OUT"

// Whose core it is: what registers it has, and where published models of VTA differ, what it does.
enum class Core : std::uint8_t { Fettle, VtaHls };
const char* name_of(Core core);  // "fettle", "vta-hls"

struct Design {
  std::string name;
  Core core = Core::Fettle;
  std::string die;  // "xc7z020": the part without package and speed grade
  std::uint32_t clock_khz = 0;
  // A GEMM micro-op multiplies batch x block_in inputs by block_out x block_in weights.
  std::uint32_t batch = 0, block_in = 0, block_out = 0;
  std::uint32_t input_bits = 0, weight_bits = 0, accumulator_bits = 0, output_bits = 0;
  std::array<std::uint32_t, kMemories> memory_bytes = {};  // by Memory
  std::uint32_t command_queue_depth = 0;                   // instructions, of each unit
  std::uint32_t token_queue_depth = 0;
  // Steps of GEMM and ALU that must lie between one that writes an ACC entry and one of the same
  // instruction that reads it (fpga/isa/hazard.h); 0 where the core forwards what it wrote.
  std::uint32_t hazard_steps = 0;
  // Content hash of its bitstream's configuration data (fpga/bitstream), 64 hexadecimal digits:
  // for a core that cannot tell its identity itself. Empty for Core::Fettle, which can.
  std::string bitstream;

  // An element is the unit of every address in an instruction, on the chip and in DRAM.
  std::uint32_t element_bytes(Memory memory) const;
  std::uint32_t depth(Memory memory) const;  // elements
  std::uint32_t index_bits(Memory memory) const;
  std::uint32_t bytes(Memory memory) const {
    return memory_bytes[static_cast<std::size_t>(memory)];
  }

  // Multiply-accumulates of one GEMM micro-op.
  std::uint64_t macs_per_uop() const { return std::uint64_t{batch} * block_in * block_out; }

  // Content hash of text().
  wire::Hash identity() const;
  // Every field as a line "name = value", in the order above: a file without its comments.
  std::string text() const;
};

// Reads a design's file: lines `name = value`, where a value is a number or a "string", and
// comments behind #. Every field must be there once. InvalidArgument, with the line, for what is
// no design: unknown names, sizes that are no powers of two, elements of part of a byte, and
// indices too wide for the instructions.
Result<Design> parse_design(std::string_view text, const std::string& file_name);

// Those of fpga/config, embedded at build time, by name.
const std::vector<Design>& designs();
// NotFound names those that there are.
Result<Design> find_design(std::string_view name);

// What a design's bitstreams carry in the device's register AXSS: the first 32 bits of its
// identity, the first byte highest.
std::uint32_t user_access_of(const Design& design);
// Null when no design is known by it.
const Design* design_of_user_access(std::uint32_t user_access);

// WrongConfiguration, by name, unless what a program was built for is this design. `identity` is
// 64 hexadecimal digits, `name` what it is called there.
Result<void> check_identity(const Design& design, std::string_view name, std::string_view identity);

// "NAME IDENTITY": what images of programs and a device's facts call a design.
std::string configuration_of(const Design& design);
// check_identity() of what configuration_of() has written, here or elsewhere.
Result<void> check_configuration(const Design& design, std::string_view configuration);

}  // namespace fettle::vta
