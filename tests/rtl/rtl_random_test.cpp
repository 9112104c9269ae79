// The Verilated core against the functional simulator: random legal programs, memory image for
// memory image, over a memory port in order and in disorder.
//   FETTLE_RTL_PROGRAMS  how many (default 300), FETTLE_RTL_SEED the first one's seed (default 1)
#include <gtest/gtest.h>

#include <cstdlib>

#include "fpga/rtl/device/rtl_core.h"
#include "fpga/sim/simulator.h"
#include "tests/support/vta_random.h"

namespace fettle::vta {
namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::string first_difference(const testing::VtaProgram& program, const Bytes& core,
                             const Bytes& simulated) {
  for (const testing::VtaProgram::Part& part : program.parts) {
    for (std::uint64_t i = 0; i < part.bytes; ++i) {
      const std::size_t at = part.address - program.base + i;
      if (core[at] == simulated[at]) continue;
      return std::string(part.name) + " at byte " + std::to_string(i) + ": the core has " +
             std::to_string(core[at]) + ", the simulator " + std::to_string(simulated[at]);
    }
  }
  return "between the buffers";
}

TEST(RtlRandom, ProgramsLeaveTheSameMemoryAsTheSimulator) {
  const Design design = *find_design("pynq");
  // One of each for all programs: what one leaves on the chip, the next begins with, in both.
  Result<RtlCore> core = RtlCore::create(design);
  ASSERT_TRUE(core) << core.error().text();
  Result<Simulator> simulator = Simulator::create(design);
  ASSERT_TRUE(simulator) << simulator.error().text();
  const std::uint64_t first = setting("FETTLE_RTL_SEED", 1);
  const std::uint64_t count = setting("FETTLE_RTL_PROGRAMS", 300);
  std::uint64_t cycles = 0, instructions = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const testing::VtaProgram program =
        testing::random_vta_program(design, seed, seed % 10 == 0 ? 400 : 40);
    ASSERT_TRUE(verify(design, program.words, program.regions())) << "seed " << seed;
    Bytes simulated = program.image, ran = program.image;
    DramImage dram(program.base, simulated);
    const std::uint32_t words = static_cast<std::uint32_t>(program.words.size());
    const auto expected = simulator->run(dram, program.stream, words);
    ASSERT_TRUE(expected) << "seed " << seed << ": " << expected.error().text();

    const auto result =
        core->run(std::as_writable_bytes(std::span(ran)), program.base, program.stream, words,
                  Timing{}, 10'000'000, static_cast<std::uint32_t>(seed % 2 * seed));
    ASSERT_TRUE(result) << "seed " << seed << ": " << result.error().text();
    ASSERT_TRUE(ran == simulated) << "seed " << seed << ": "
                                  << first_difference(program, ran, simulated);
    cycles += result->cycles;
    instructions += words;
  }
  std::printf("%llu programs from seed %llu on, %llu instructions, %llu cycles\n",
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(instructions),
              static_cast<unsigned long long>(cycles));
}

}  // namespace
}  // namespace fettle::vta
