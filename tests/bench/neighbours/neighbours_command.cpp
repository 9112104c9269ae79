// Looking at a core once a millisecond (neighbours_command.h).
#include "tests/bench/neighbours/neighbours_command.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "host/app/cores.h"
#include "host/app/interrupt.h"
#include "tests/bench/neighbours/core_gauge.h"
#include "tests/bench/neighbours/neighbours.h"

namespace fettle::bench {

CLI::App* add_neighbours_command(CLI::App& app, NeighboursOptions& options) {
  CLI::App* command = app.add_subcommand(
      "neighbours",
      "whether another hardware thread, of a virtual machine's neighbour say, takes "
      "a part of a core");
  command->add_flag("--json", options.json, "a JSON line");
  command->add_option("--core", options.core, "its number; without it: the last usable one")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--seconds", options.seconds, "how long to look")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  return command;
}

Result<void> run_neighbours(const NeighboursOptions& options) {
  const std::vector<int> cores = app::usable_cores();
  if (cores.empty()) return Error{ErrorCode::Unsupported, "the system does not tell the cores"};
  const int core = options.core.value_or(cores.back());
  if (std::find(cores.begin(), cores.end(), core) == cores.end()) {
    return Error{ErrorCode::InvalidArgument, fmt::format("core {} is none of this process's ({})",
                                                         core, fmt::join(cores, ", "))};
  }
  const app::Interrupt interrupt;
  app::pin_process({core});
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  std::vector<Look> looks;
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  while (seconds() < options.seconds && !interrupt.requested()) {
    const double at = seconds();
    looks.push_back({at, core_gauge()});
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const Neighbours seen = neighbours_of(looks);
  if (options.json) {
    fmt::print("{}\n", nlohmann::json{{"benchmark", "neighbours"},
                                      {"core", core},
                                      {"looks", seen.looks},
                                      {"alone_gauge", seen.alone_gauge},
                                      {"crowded_share", seen.crowded_share},
                                      {"slowdown", seen.slowdown},
                                      {"longest_crowded_s", seen.longest_crowded_s},
                                      {"longest_alone_s", seen.longest_alone_s},
                                      {"summary", true}}
                           .dump());
    return {};
  }
  if (seen.crowded_share == 0) {
    fmt::print("core {}: {} looks, all alike: no other hardware thread comes and goes\n", core,
               seen.looks);
    return {};
  }
  fmt::print(
      "core {}: another hardware thread was at work in {:.1f} % of {} looks; independent "
      "instructions took {:.2f} times as long then\n"
      "longest: beside it {:.0f} ms, alone {:.0f} ms\n",
      core, 100 * seen.crowded_share, seen.looks, seen.slowdown, 1e3 * seen.longest_crowded_s,
      1e3 * seen.longest_alone_s);
  return {};
}

}  // namespace fettle::bench
