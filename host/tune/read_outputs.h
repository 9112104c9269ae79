// What a program computes on a board, brought here: the outputs of a kernel that others are
// compared with.
#pragma once

#include "host/tune/pipeline.h"
#include "schemas/program_generated.h"

namespace fettle::tune {

// Bytes of each output buffer, in the buffers' order. Runs the program once for each MiB of all of
// them together. Its own failure there as an Error; Unsupported: the agent is too old to send
// outputs.
Result<std::vector<Bytes>> read_outputs(Runner& runner, StopSignal& stop,
                                        const wire::ProgramT& program, int threads);

}  // namespace fettle::tune
