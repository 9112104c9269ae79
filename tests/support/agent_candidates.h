// Programs made of the hand-made candidates (candidates/candidates.h).
#pragma once

#include <string>

#include "schemas/measure_generated.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/native_arch.h"
#include "tests/support/candidates/candidates.h"

namespace fettle::test {

// `arch` as in Board.arch: "x86_64", "aarch64" or "armv7"; without it, this machine's.

// False where there are none (other machines, no cross compiler): tests skip.
bool have_candidates(const std::string& arch = native_arch());
// Buffers 0 input and 1 output of kElements floats, launched over `parallel_extent`.
wire::ProgramT candidate_program(CandidateKind kind, std::uint32_t parallel_extent = kElements,
                                 const std::string& arch = native_arch());
// What kGood computes of the input, in bytes.
Bytes candidate_answer();
// Both with short samples, a run limit of 300 ms, and `blob` as expected output.
wire::MeasureRequestT candidate_request(CandidateKind kind, const wire::Hash& blob,
                                        const std::string& arch = native_arch());

}  // namespace fettle::test
