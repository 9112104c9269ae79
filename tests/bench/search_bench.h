// `fettle-bench search`: searchers compared on recorded spaces, through the real
// loop, without a board. Told is after how many trials a searcher first held a
// configuration within 5 %, 2 % and 1 % of the recording's best.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::bench {

struct SearchBenchOptions {
  std::vector<std::string> recordings;  // files
  std::vector<std::string> searchers;   // empty: all but grid
  unsigned seeds = 20;
  unsigned first_seed = 0;
  unsigned trials = 1000;    // given up after so many
  bool transfer = false;     // evolutionary starts with what the other recordings taught
  bool prior = true;         // evolutionary starts with the prior that fettle ships
  std::string kernel_tuner;  // a Python that has Kernel Tuner: its strategies too; "": not asked
  bool json = false;
};

// Those of the source tree that this program was built from, in order of name.
std::vector<std::string> stored_recordings();

Result<void> run_search_bench(const SearchBenchOptions& options);

}  // namespace fettle::bench
