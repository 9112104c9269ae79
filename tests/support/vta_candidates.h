// Candidates for devices of the kind Vta: good and evil streams for the design pynq, hand-made.
#pragma once

#include <string>

#include "fpga/isa/encoding.h"
#include "schemas/program_generated.h"
#include "schemas/wire/codec.h"
#include "tests/support/candidates/candidates.h"

namespace fettle::test {

// Of input and output, 4 bytes each: 256 elements of 16 outputs. A stream works on whole ones.
inline constexpr std::uint32_t kVtaElements = 1024, kVtaGrain = 4;

// Buffers 0 input, 1 output, 2 micro-ops and 3 weights: the identity. All candidates have one
// image.
//   kGood         each byte of the output is twice that of the input
//   kCount        each byte of the first `extent` elements is one more than before; `extent` is
//                 kVtaGrain or kVtaElements
//   kSlow         as kGood, after a million steps
//   kWriteBehind  as kGood, and stores one element more than the output has
wire::ProgramT vta_candidate_program(CandidateKind kind, std::uint32_t extent = kVtaElements);
Bytes vta_candidate_answer();
// How often the element at `bytes` of kCount's output was counted; 0: never written.
double vta_counted(const std::uint8_t* bytes);
// The contents of buffers 2 and 3 by their hashes; empty for another hash.
ByteView vta_candidate_blob(const wire::Hash& hash);

// kGood's instructions, to break: what they are by their places.
enum VtaGood : std::uint32_t {
  kLoadUop,
  kLoadInput,
  kLoadWeights,
  kReset,
  kMultiply,
  kMultiplyAgain,
  kStore,
  kWaitForStore,
  kFinish
};
std::vector<vta::Instruction> vta_good_stream();
// That of vta_candidate_program(kGood) with an image of this one stream.
wire::ProgramT vta_program_of(const std::vector<vta::Instruction>& stream);

}  // namespace fettle::test
