// The order of tunes and timings, and how long they will still take (versions_bench.h).
#include "tests/bench/versions/versions_bench.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "host/app/interrupt.h"
#include "tests/bench/versions/side.h"
#include "tests/bench/versions/turns.h"
#include "tests/bench/versions/versions_report.h"
#include "tests/bench/versions/work_folder.h"

namespace fettle::bench {
namespace {

namespace fs = std::filesystem;

// Steps of one kind, which take about the same time each.
struct Steps {
  unsigned all = 0, done = 0;
  double seconds = 0;  // of those done
  double left() const { return done == 0 ? 0 : seconds / done * (all - done); }
};

struct Progress {
  Steps tunes, kernels;

  // A line on standard error: a step has ended.
  void say(Steps& of, const std::string& what, double seconds) {
    ++of.done;
    of.seconds += seconds;
    const double minutes = (tunes.left() + kernels.left()) / 60;
    const bool unknown = kernels.done == 0 && kernels.all > 0;
    std::fprintf(stderr, "%-48s %6.1f s   tunes %u of %u, kernels %u of %u; %s%.1f min left\n",
                 what.c_str(), seconds, tunes.done, tunes.all, kernels.done, kernels.all,
                 unknown ? "kernels and " : "", minutes);
  }
};

struct Bench {
  const VersionsBenchOptions& options;
  const fs::path& work;
  const tune::StopSignal& stop;
  std::array<Side, 2> sides;  // baseline, candidate
  Progress progress;
};

using Databases = std::array<std::vector<fs::path>, 2>;  // [side][seed]

Result<Databases> tune_both(Bench& bench, const std::string& network,
                            std::vector<ComparedTunes>& pairs) {
  Databases databases;
  for (unsigned seed = 1; seed <= bench.options.seeds; ++seed) {
    std::array<double, 2> per_hour{};
    const auto done = by_turns(seed - 1, [&](std::size_t side) -> Result<void> {
      const auto tuned = tune_network(bench.sides[side], {network, seed, bench.options.trials},
                                      bench.work, bench.stop);
      const std::string what =
          fmt::format("{}: {}, seed {}", bench.sides[side].name, network, seed);
      if (!tuned) return Error(tuned.error()).in("tuning " + what);
      per_hour[side] = tuned->per_hour();
      databases[side].push_back(tuned->db);
      bench.progress.say(bench.progress.tunes, what + (tuned->kept ? " (kept)" : ""),
                         tuned->seconds);
      return {};
    });
    if (!done) return done.error();
    pairs.push_back({network, seed, per_hour[0], per_hour[1]});
  }
  return databases;
}

Result<ComparedNetwork> time_both(Bench& bench, const std::string& network,
                                  const Databases& databases) {
  const std::size_t seeds = databases[0].size();
  std::array<KernelRuns, 2> runs{KernelRuns(seeds), KernelRuns(seeds)};
  for (unsigned turn = 0; turn < bench.options.turns; ++turn) {
    for (std::size_t seed = 0; seed < seeds; ++seed) {
      const auto done = by_turns(turn, [&](std::size_t side) -> Result<void> {
        const std::string what = fmt::format("{}: kernels of {}, seed {}, turn {}",
                                             bench.sides[side].name, network, seed + 1, turn + 1);
        const auto begin = std::chrono::steady_clock::now();
        auto run = time_kernels(bench.sides[side], network, databases[side][seed],
                                bench.options.rounds, bench.stop);
        if (!run) return std::move(run).error().in("timing " + what);
        runs[side][seed].push_back(std::move(*run));
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        bench.progress.say(bench.progress.kernels, what, took.count());
        return {};
      });
      if (!done) return done.error();
    }
  }
  return compare(network, runs[0], runs[1]);
}

Result<ComparedVersions> run(const VersionsBenchOptions& options, const fs::path& work,
                             const tune::StopSignal& stop) {
  const auto folders = side_folders(options.baseline, options.candidate);
  auto baseline = open_side("baseline", folders[0], work, stop);
  if (!baseline) return std::move(baseline).error();
  auto candidate = open_side("candidate", folders[1], work, stop);
  if (!candidate) return std::move(candidate).error();
  Bench bench{options, work, stop, {std::move(*baseline), std::move(*candidate)}, {}};
  bench.progress.tunes.all = static_cast<unsigned>(options.networks.size()) * options.seeds * 2;
  bench.progress.kernels.all = bench.progress.tunes.all * options.turns;

  ComparedVersions versions;
  std::vector<Databases> databases;
  for (const std::string& network : options.networks) {
    auto tuned = tune_both(bench, network, versions.tunes);
    if (!tuned) return std::move(tuned).error();
    databases.push_back(std::move(*tuned));
  }
  for (std::size_t i = 0; i < options.networks.size(); ++i) {
    auto compared = time_both(bench, options.networks[i], databases[i]);
    if (!compared) return std::move(compared).error();
    versions.networks.push_back(std::move(*compared));
  }
  return versions;
}

}  // namespace

Result<void> run_versions_bench(const VersionsBenchOptions& options) {
  const app::Interrupt interrupt;
  const auto folder = WorkFolder::open(options.keep);
  if (!folder) return folder.error();
  const auto versions = run(options, folder->path(), interrupt);
  if (!versions) {
    const bool resumable = versions.error().code == ErrorCode::Canceled && !options.keep.empty();
    if (resumable) std::fprintf(stderr, "the same command goes on\n");
    return versions.error();
  }
  if (options.json) {
    print_json(*versions, std::cout);
  } else {
    print_tables(*versions, std::cout);
  }
  if (!options.gate) return {};
  std::string slower;
  for (const std::string& reason : slower_because(*versions)) {
    slower += (slower.empty() ? "" : "; ") + reason;
  }
  if (slower.empty()) return {};
  return Error{ErrorCode::Internal, "slower than the baseline: " + slower, {}};
}

}  // namespace fettle::bench
