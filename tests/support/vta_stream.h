// A small legal stream for VTA, for tests to run or to break: one block of 16 outputs from 3
// products, shifted, clipped and stored.
#pragma once

#include <vector>

#include "fpga/isa/verify.h"

namespace fettle::testing {

struct VtaStream {
  vta::Design design;
  std::vector<vta::Instruction> instructions;
  Bytes uops;  // at kUops
  std::vector<vta::Region> regions;

  static constexpr std::uint64_t kUops = 0x1000, kInput = 0x2000, kWeights = 0x4000,
                                 kOutput = 0x8000, kBias = 0xa000;

  template <typename Body>
  Body& body(std::size_t i) {
    return std::get<Body>(instructions[i].body);
  }
  // Fields that do not fit are the test's mistake.
  std::vector<vta::Word> words() const {
    const vta::Encoding encoding(design);
    std::vector<vta::Word> out;
    for (const vta::Instruction& each : instructions) out.push_back(*encoding.encode(each));
    return out;
  }
  Result<vta::StreamFacts> verified() const { return vta::verify(design, words(), regions); }
  void set_uops(const std::vector<vta::MicroOp>& list) {
    const vta::Encoding encoding(design);
    uops.clear();
    for (const vta::MicroOp& each : list) {
      const std::uint32_t bits = *encoding.encode(each);
      for (unsigned k = 0; k < 4; ++k) uops.push_back(static_cast<std::uint8_t>(bits >> (8 * k)));
    }
    regions[0].bytes = uops.size();
    regions[0].contents = uops;
  }

  VtaStream() : design(*vta::find_design("pynq")) { fill(); }
  explicit VtaStream(vta::Design of) : design(std::move(of)) { fill(); }
  VtaStream(const VtaStream&) = delete;

 private:
  void fill() {
    using namespace vta;
    const auto at = [&](std::uint64_t address, Memory memory) {
      return static_cast<std::uint32_t>(address / design.element_bytes(memory));
    };
    const auto elements = [&](std::uint64_t count, Memory memory) {
      return count * design.element_bytes(memory);
    };
    regions = {{"uops", kUops, 0, false},
               {"input", kInput, elements(6, Memory::Input), false},
               {"weights", kWeights, elements(3, Memory::Weight), false},
               {"output", kOutput, elements(4, Memory::Output), true},
               {"bias", kBias, elements(4, Memory::Accumulator), false}};
    set_uops({{0, 0, 0}, {1, 1, 0}, {2, 2, 0}, {3, 3, 0}});
    Load uop{{Memory::Uop, 0, at(kUops, Memory::Uop), 1, 4, 4}};
    Load input{{Memory::Input, 0, at(kInput, Memory::Input), 1, 6, 6}};
    Load weights{{Memory::Weight, 0, at(kWeights, Memory::Weight), 1, 3, 3}};
    Load bias{{Memory::Accumulator, 0, at(kBias, Memory::Accumulator), 1, 4, 4}};
    Gemm gemm{{0, 4, 1, 3, 0, 0, 0, 1}, false, 0, 1};
    Alu shift{{0, 1, 1, 4, 0, 1, 0, 1}, AluOp::ShiftRight, true, 4};
    Alu clip{{0, 1, 1, 4, 0, 1, 0, 1}, AluOp::Max, true, 0};
    Store store{{Memory::Output, 0, at(kOutput, Memory::Output), 1, 4, 4}};
    instructions = {
        {{}, uop},                                                 // 0
        {{}, input},                                               // 1
        {{.push_next = true}, weights},                            // 2
        {{}, bias},                                                // 3
        {{.pop_prev = true}, gemm},                                // 4
        {{}, shift},                                               // 5
        {{.push_next = true}, clip},                               // 6
        {{.pop_prev = true, .push_prev = true}, store},            // 7
        {{.pop_next = true}, Load{{Memory::Uop, 0, 0, 0, 0, 0}}},  // 8: waits for the store
        {{}, Finish{}},                                            // 9
    };
  }
};

}  // namespace fettle::testing
