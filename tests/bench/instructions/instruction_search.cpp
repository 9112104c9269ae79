// Searching by instruction counts (instruction_search.h).
#include "tests/bench/instructions/instruction_search.h"

#include <algorithm>
#include <optional>

#include "host/backend/backend.h"
#include "host/tune/searcher.h"

namespace fettle::bench {
namespace {

constexpr std::size_t kBatch = 8;  // proposals between two looks at the counts

Result<CountedRun> count(const backend::Task& task, const Layer& layer,
                         const space::CpuTarget& target,
                         const space::Configuration& configuration) {
  auto built = task.build(configuration);
  if (!built) return std::move(built).error();
  auto run = count_program(target.arch, *built->program);
  if (!run) return run;
  const std::string wrong = wrong_answer(run->output, layer);
  if (!wrong.empty()) return Error{ErrorCode::WrongAnswer, wrong, {}};
  return run;
}

}  // namespace

Result<FewestInstructions> search_fewest(const Layer& layer, const space::CpuTarget& target,
                                         unsigned candidates, std::uint64_t seed) {
  const backend::Backend* backend = backend::find_backend(space::CpuTarget::kBackend);
  const auto task = backend->open(layer.workload.dag(), target.target());
  if (!task) return task.error();
  tune::SearcherOptions options;
  options.seed = seed;
  options.feature_count = backend->feature_names().size();
  options.features = [&](const space::Configuration& configuration) {
    return (*task)->features(configuration);
  };
  auto searcher = tune::make_searcher("evolutionary", (*task)->space(), options);
  if (!searcher) return std::move(searcher).error();

  std::optional<FewestInstructions> best;
  Error last{ErrorCode::NotFound, "the search space is empty", {}};
  for (std::size_t done = 0; done < candidates;) {
    const auto proposals = (*searcher)->propose(std::min<std::size_t>(kBatch, candidates - done));
    if (proposals.empty()) break;
    done += proposals.size();
    for (const space::Configuration& configuration : proposals) {
      auto run = count(**task, layer, target, configuration);
      const auto features = (*task)->features(configuration);
      tune::Observation observation{configuration, std::nullopt, false, {}};
      if (features) observation.features = *features;
      if (run) observation.nanoseconds = static_cast<double>(run->instructions);
      (*searcher)->observe(observation);
      if (!run) {
        last = std::move(run).error();
      } else if (!best || run->instructions < best->run.instructions) {
        best = FewestInstructions{configuration, std::move(*run)};
      }
    }
  }
  if (best) return std::move(*best);
  return Error{ErrorCode::NotFound, "no candidate could be counted: " + last.text(), {}};
}

}  // namespace fettle::bench
