// The commands of `fettle-bench` that run another build's programs beside this one's.
#pragma once

#include "tests/bench/versions/host_turns.h"
#include "tests/bench/versions/pipeline_turns.h"
#include "tests/bench/versions/versions_bench.h"

namespace CLI {
class App;
}

namespace fettle::bench {

// Each adds its command to `app`; `options` outlives the parsing.
CLI::App* add_pipeline_command(CLI::App& app, PipelineTurnsOptions& options);
CLI::App* add_host_command(CLI::App& app, HostTurnsOptions& options);
CLI::App* add_versions_command(CLI::App& app, VersionsBenchOptions& options);

}  // namespace fettle::bench
