// The command lines of `fettle-bench record-space` and `renew-features`.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/record_space.h"

namespace CLI {
class App;
}

namespace fettle::bench {

// The subcommands, which fill what they are given; it outlives `app`'s parsing.
CLI::App* add_record_space_command(CLI::App& app, RecordSpaceOptions& options);
CLI::App* add_renew_features_command(CLI::App& app, std::vector<std::string>& recordings);

}  // namespace fettle::bench
