// The tables and lines (boards_report.h).
#include "tests/bench/boards/boards_report.h"

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "host/app/cores.h"
#include "tests/bench/boards/simulated_device.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

Json json_of(const BoardTimes& board, const BoardsRun& run, std::size_t number) {
  return {{"benchmark", "boards"},
          {"boards", run.boards},
          {"board", number},
          {"trials", board.trials},
          {"failed", board.failed},
          {"busy_share", board.busy_share},
          {"later_busy_share", board.later_busy_share},
          {"trial_ms_median", board.trial_ms},
          {"load_ms_median", board.load_ms},
          {"warmup_ms_median", board.warmup_ms},
          {"run_ms_median", board.run_ms},
          {"check_ms_median", board.check_ms},
          {"kernel_ms_median", board.kernel_ms},
          {"samples", board.samples},
          {"disturbed_samples", board.disturbed}};
}

Json json_of(const BoardsRun& run) {
  return {{"benchmark", "boards"},
          {"boards", run.boards},
          {"trials", run.trials},
          {"elsewhere", run.times.elsewhere},
          {"seconds", run.seconds},
          {"least_busy_share", run.least_busy_share()},
          {"trials_per_hour", run.trials_per_hour},
          {"builds_per_second", run.builds_per_second()},
          {"build_ms_median", run.build_ms_median},
          {"planning_seconds", run.planning_seconds},
          {"feature_seconds", run.feature_seconds},
          {"training_seconds", run.training_seconds},
          {"plans", run.plans},
          {"lowered", run.lowered},
          {"thought", run.thought},
          {"build_seconds", run.build_seconds},
          {"session_cpu_seconds", run.session_cpu_seconds},
          {"broker_cpu_seconds", run.broker_cpu_seconds},
          {"boards_cpu_seconds", run.boards_cpu_seconds}};
}

void print_text(const BoardsBenchOptions& options, const BoardsRun& run) {
  std::printf("simulated boards: %u, kernels of %g to %g ms, %s, %zu trials in %.1f s\n",
              run.boards, options.kernel_ms, options.kernel_ms * (1 + kRunSpread),
              options.network.c_str(), run.trials, run.seconds);
  std::printf(
      "  board  trials  failed  busy share  later half  trial ms    load  warm-up    runs   "
      "check\n");
  std::size_t number = 0;
  for (const BoardTimes& b : run.times.boards) {
    std::printf("  %5zu %7zu %7zu %11.4f %11.4f %9.2f %7.2f %8.2f %7.2f %7.2f\n", ++number,
                b.trials, b.failed, b.busy_share, b.later_busy_share, b.trial_ms, b.load_ms,
                b.warmup_ms, b.run_ms, b.check_ms);
  }
  if (run.times.boards.size() < run.boards) {
    std::printf("  %zu had no trial\n", run.boards - run.times.boards.size());
  }
  std::size_t samples = 0, disturbed = 0;
  for (const BoardTimes& b : run.times.boards) samples += b.samples, disturbed += b.disturbed;
  std::printf("  %zu trials on no board; %zu samples, %zu more disturbed\n", run.times.elsewhere,
              samples, disturbed);
  std::printf(
      "  %.0f trials an hour, %.1f builds a second by %zu builders, %.1f ms each (median)\n",
      run.trials_per_hour, run.builds_per_second(), app::builder_count({}), run.build_ms_median);
  std::printf(
      "  %zu plans with %.2f of plain thought took %.1f s (features of %zu candidates %.1f s, "
      "training %.1f s), building %.1f s of all builders together\n",
      run.plans, run.thought, run.planning_seconds, run.lowered, run.feature_seconds,
      run.training_seconds, run.build_seconds);
  std::printf(
      "  CPU time: session and builders %.1f s, broker %.1f s: %.2f cores; simulating %.1f s: "
      "%.2f\n",
      run.session_cpu_seconds, run.broker_cpu_seconds,
      (run.session_cpu_seconds + run.broker_cpu_seconds) / run.seconds, run.boards_cpu_seconds,
      run.boards_cpu_seconds / run.seconds);
  std::fflush(stdout);
}

}  // namespace

void print_run(const BoardsBenchOptions& options, const BoardsRun& run) {
  if (!options.json) return print_text(options, run);
  std::size_t number = 0;
  for (const BoardTimes& board : run.times.boards) {
    std::cout << json_of(board, run, ++number).dump() << "\n";
  }
  std::cout << json_of(run).dump() << std::endl;
}

void print_summary(const BoardsBenchOptions& options, const std::vector<BoardsRun>& runs,
                   double gate, unsigned most) {
  if (!options.json) {
    if (most > 0) {
      std::printf("largest number of boards that were all busy for %g of their time: %u\n", gate,
                  most);
    } else {
      std::printf("in no run all boards were busy for %g of their time\n", gate);
    }
    return;
  }
  Json least = Json::object();
  for (const BoardsRun& run : runs) least[std::to_string(run.boards)] = run.least_busy_share();
  std::cout << Json{{"benchmark", "boards"},       {"summary", true},
                    {"network", options.network},  {"kernel_ms", options.kernel_ms},
                    {"kernel_spread", kRunSpread}, {"builders", app::builder_count({})},
                    {"least_busy_share", least},   {"gate", gate},
                    {"most_boards", most}}
                   .dump()
            << std::endl;
}

}  // namespace fettle::bench
