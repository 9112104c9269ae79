// The candidates of agent_candidates.h as kernels of tests/data/opencl/candidates.cl, as far as
// they are there.
#pragma once

#include <string>

#include "schemas/program_generated.h"
#include "tests/support/candidates/candidates.h"

namespace fettle::test {

// kernel(in, out, n) of candidates.cl over kElements floats, `threads` in a block.
wire::ProgramT opencl_program(const std::string& kernel, std::uint32_t threads = 64);
// As candidate_program: `extent` elements of the output are worked on.
wire::ProgramT opencl_candidate_program(CandidateKind kind, std::uint32_t extent);
// Why there is no OpenCL device here; "": there is one.
std::string why_no_opencl();

}  // namespace fettle::test
