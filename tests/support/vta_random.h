// Random legal streams for VTA, with the memory that they run over: for comparing the accelerator's
// models with each other. Every kind of instruction occurs; units wait for each other by tokens
// wherever they touch the same, so that the result does not depend on their speed; and what is
// read was written before, so that it does not depend on what was on the chip.
#pragma once

#include "fpga/isa/verify.h"

namespace fettle::testing {

struct VtaProgram {
  vta::Design design;
  std::uint64_t base = 0;    // of the image in DRAM, a multiple of 4096
  Bytes image;               // everything, the stream included, before the run
  std::uint64_t stream = 0;  // address of the first instruction
  std::vector<vta::Word> words;

  struct Part {
    const char* name;
    std::uint64_t address, bytes;
    bool writable, constant;
  };
  std::vector<Part> parts;
  // As the verifier wants them; they point into the image.
  std::vector<vta::Region> regions() const;
};

// The same for the same design, seed and size, on every machine. `size` is about how many
// instructions it has, beside some that begin and end it.
VtaProgram random_vta_program(const vta::Design& design, std::uint64_t seed, std::size_t size = 40);

}  // namespace fettle::testing
