// The loop that a builder process runs: requests in, results out, one at a time.
#pragma once

#include <functional>

#include "schemas/wire/codec.h"

namespace fettle::fleet {

// Fills the result's body; id and build_ns are set by the loop.
using BuildFunction = std::function<wire::BuildResultT(const wire::BuildRequestT&)>;

// Reads BuildMessage frames from stdin and writes BuildMessage frames to what
// stdout was until stdin ends; then 0. From here on stdout is stderr, so that
// nothing a library prints can get between the frames. Returns 1, with a line on
// stderr, when the frames make no sense.
int run_build_worker(const BuildFunction& build);

}  // namespace fettle::fleet
