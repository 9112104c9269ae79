// What `fettle-bench boards` prints: text, or JSON lines of which the last one is a summary.
#pragma once

#include "tests/bench/boards/boards_bench.h"

namespace fettle::bench {

void print_run(const BoardsBenchOptions& options, const BoardsRun& run);
void print_summary(const BoardsBenchOptions& options, const std::vector<BoardsRun>& runs,
                   double gate, unsigned most);

}  // namespace fettle::bench
