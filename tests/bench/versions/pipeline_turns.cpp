// The runs by turns, and their medians (pipeline_turns.h).
#include "tests/bench/versions/pipeline_turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "host/app/interrupt.h"
#include "tests/bench/versions/json_summary.h"
#include "tests/bench/versions/logged_child.h"
#include "tests/bench/versions/side.h"
#include "tests/bench/versions/turns.h"
#include "tests/bench/versions/work_folder.h"

namespace fettle::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kNames[] = {"baseline", "candidate"};

std::vector<std::string> command_of(const fs::path& folder, const PipelineBenchOptions& options,
                                    unsigned turn) {
  std::vector<std::string> argv{"env",
                                "FETTLE_AGENT=" + (folder / "fettle-agent").string(),
                                (folder / "fettle-bench").string(),
                                "pipeline",
                                "--json",
                                "--kernel-ms",
                                fmt::format("{}", options.kernel_ms),
                                "--trials",
                                std::to_string(options.trials),
                                "--seed",
                                std::to_string(options.seed + turn)};
  if (options.builders > 0) {
    argv.insert(argv.end(), {"--builders", std::to_string(options.builders)});
  }
  if (options.threads > 0) {
    argv.insert(argv.end(), {"--threads", std::to_string(options.threads)});
  }
  return argv;
}

using Summaries = std::array<std::vector<PipelineSummary>, 2>;  // [side][turn]

double median(const std::vector<PipelineSummary>& turns, double PipelineSummary::* figure) {
  std::vector<double> values;
  for (const PipelineSummary& turn : turns) values.push_back(turn.*figure);
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

struct Figure {
  const char* name;
  double PipelineSummary::* value;
};
constexpr Figure kFigures[] = {{"overhead_ms", &PipelineSummary::overhead_ms},
                               {"busy_share", &PipelineSummary::busy_share},
                               {"busy_share_overall", &PipelineSummary::busy_share_overall},
                               {"running_share", &PipelineSummary::running_share},
                               {"build_ms", &PipelineSummary::build_ms},
                               {"trials_per_hour", &PipelineSummary::trials_per_hour}};

void print(const PipelineTurnsOptions& options, const Summaries& turns) {
  Json summary = {{"benchmark", "pipeline-turns"},
                  {"summary", true},
                  {"kernel_ms_wanted", options.pipeline.kernel_ms},
                  {"turns", options.turns}};
  if (!options.pipeline.json) {
    std::printf("medians of %u turns, kernels of about %g ms\n%-20s %12s %12s %12s\n",
                options.turns, options.pipeline.kernel_ms, "", kNames[0], kNames[1], "times");
  }
  for (const Figure& figure : kFigures) {
    const double before = median(turns[0], figure.value), after = median(turns[1], figure.value);
    if (!options.pipeline.json) {
      std::printf("%-20s %12.4f %12.4f %12.3f\n", figure.name, before, after, after / before);
    }
    summary[figure.name] = {{"baseline", before}, {"candidate", after}, {"times", after / before}};
  }
  if (options.pipeline.json) std::cout << summary.dump() << std::endl;
}

// "" or all that keeps it shut.
std::string gate_fault(const PipelineTurnsOptions& options, const Summaries& turns) {
  const auto times = [&](double PipelineSummary::* figure) {
    return median(turns[1], figure) / median(turns[0], figure);
  };
  std::string faults;
  const auto add = [&](const std::string& fault) {
    faults += (faults.empty() || fault.empty() ? "" : "; ") + fault;
  };
  if (const double overhead = times(&PipelineSummary::overhead_ms); overhead > kMostOverhead) {
    add(fmt::format("a trial's overhead is {:.3f} times the baseline's", overhead));
  }
  for (const auto& [name, figure] :
       {std::pair{"busy share", &PipelineSummary::busy_share},
        std::pair{"busy share over all", &PipelineSummary::busy_share_overall}}) {
    if (times(figure) * kMostOverhead >= 1) continue;
    add(fmt::format("the {} is {:.3f} times the baseline's", name, times(figure)));
  }
  add(running_share_fault(options.pipeline.kernel_ms,
                          median(turns[1], &PipelineSummary::running_share)));
  return faults;
}

}  // namespace

Result<PipelineSummary> parse_pipeline_summary(const std::string& lines) {
  const Json told = last_json_line(lines);
  PipelineSummary summary;
  const std::pair<const char*, double*> wanted[] = {
      {"overhead_ms_median", &summary.overhead_ms},
      {"busy_share", &summary.busy_share},
      {"busy_share_overall", &summary.busy_share_overall},
      {"running_share", &summary.running_share},
      {"build_ms_median", &summary.build_ms},
      {"trials_per_hour", &summary.trials_per_hour}};
  for (const auto& [name, value] : wanted) {
    if (!told.is_object() || !told.contains(name) || !told[name].is_number()) {
      return Error{ErrorCode::Malformed, fmt::format("the last line has no number '{}'", name), {}};
    }
    *value = told[name].get<double>();
  }
  return summary;
}

Result<void> run_pipeline_turns(const PipelineTurnsOptions& options) {
  const app::Interrupt interrupt;
  const auto work = WorkFolder::open("");
  if (!work) return work.error();
  const auto folders = side_folders(options.baseline, options.candidate);
  for (std::size_t side = 0; side < 2; ++side) {
    if (auto there = has_programs(kNames[side], folders[side]); !there) return there;
  }
  Summaries turns;
  for (unsigned turn = 0; turn < options.turns; ++turn) {
    const auto done = by_turns(turn, [&](std::size_t side) -> Result<void> {
      const ChildLogs logs{work->path() / "output", work->path() / "errors"};
      const auto seconds =
          run_logged(command_of(folders[side], options.pipeline, turn), logs, interrupt);
      if (!seconds) return seconds.error();
      const auto lines = text_of_file(logs.output);
      if (!lines) return lines.error();
      auto summary = parse_pipeline_summary(*lines);
      if (!summary) return std::move(summary).error().in(kNames[side]);
      std::fprintf(stderr, "turn %u of %u, %-9s %5.1f s: overhead %.3f ms, busy share %.4f\n",
                   turn + 1, options.turns, kNames[side], *seconds, summary->overhead_ms,
                   summary->busy_share);
      turns[side].push_back(*summary);
      return {};
    });
    if (!done) return done.error();
  }
  print(options, turns);
  if (!options.pipeline.gate) return {};
  const std::string fault = gate_fault(options, turns);
  if (fault.empty()) return {};
  return Error{ErrorCode::Internal, "the gate stays shut: " + fault, {}};
}

}  // namespace fettle::bench
