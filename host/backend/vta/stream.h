// Finished streams, and the Programs that bring them to a device.
#pragma once

#include "host/backend/vta/generate.h"
#include "schemas/program_generated.h"

namespace fettle::vta::host {

struct Stream {
  std::vector<Instruction> instructions;  // with tokens
  std::vector<Word> words;                // the same
  Untokened data;                         // regions and constants; its instructions are gone
  StreamFacts facts;
};

// Puts the tokens and asks the verifier, as the device will. BuildError: it does not pass.
Result<Stream> finish_stream(const Design& design, Untokened code);

// One image with one entry, launched once; its buffers are these, then the constants.
wire::ProgramT program_of(std::span<const ir::ProgramBuffer> buffers, const Design& design,
                          const Stream& stream);

}  // namespace fettle::vta::host
