// The candidates of agent_candidates.h as kernels of tests/data/cuda/candidates.cu, as far as
// they are there.
#pragma once

#include <string>

#include "schemas/program_generated.h"
#include "schemas/wire/codec.h"
#include "tests/support/candidates/candidates.h"

namespace fettle::test {

// A file of $FETTLE_TEST_CUDA_DATA, of tests/data/cuda, or made when the tests were built;
// empty: there is none.
Bytes cuda_data(const std::string& name);
// One launch of that kernel of candidates.ptx, without buffers and arguments.
wire::ProgramT cuda_program(const std::string& kernel, wire::Dim3 grid, wire::Dim3 block);
// As candidate_program: `extent` elements of the output are worked on.
wire::ProgramT cuda_candidate_program(CandidateKind kind, std::uint32_t extent);
// Why libcuda.so.1 cannot be loaded here; "": it can.
std::string why_no_cuda();

}  // namespace fettle::test
