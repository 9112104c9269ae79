// Hand-made programs of the stack machine: what the conformance suite and the self test run.
#pragma once

#include "schemas/program_generated.h"
#include "schemas/wire/codec.h"
#include "tests/support/candidates/candidates.h"

namespace fettle::extension {

// Output 1 is twice input 0, both of `elements` floats; no fill.
wire::ProgramT doubling_program(std::uint32_t elements);
// As the conformance suite wants them (tests/conformance/device_conformance.h).
wire::ProgramT machine_candidate(CandidateKind candidate, std::uint32_t extent);
Bytes machine_answer();

}  // namespace fettle::extension
