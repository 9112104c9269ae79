// Programs made of the hand-made candidates (candidates/candidates.h).
#pragma once

#include "schemas/measure_generated.h"
#include "schemas/wire/codec.h"
#include "tests/support/candidates/candidates.h"

namespace fettle::test {

// False where there are none (other architectures): tests skip.
bool have_candidates();
// Buffers 0 input and 1 output of kElements floats, launched over `parallel_extent`.
wire::ProgramT candidate_program(CandidateKind kind, std::uint32_t parallel_extent = kElements);
// What kGood computes of the input, in bytes.
Bytes candidate_answer();
// Both with short samples, a run limit of 300 ms, and `blob` as expected output.
wire::MeasureRequestT candidate_request(CandidateKind kind, const wire::Hash& blob);

}  // namespace fettle::test
