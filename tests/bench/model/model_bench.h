// `fettle-bench model`: how good the model of times is that plans are made by
// (host/cost/time_model.h), and what training it costs, on recorded trials. Of each task it is
// trained on some trials, beside trials of other tasks, and asked which of the task's other
// programs are fast. Nothing is timed but the training, so any machine tells the same of the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/cost/time_model.h"
#include "tests/bench/lessons.h"

namespace fettle::bench {

struct ModelBenchOptions {
  std::vector<std::string> databases;
  std::vector<unsigned> trials = {8, 24, 48};  // of the task, that it is trained on
  unsigned others = 17;  // tasks beside it, at most, of each as many trials; 0: none
  unsigned seeds = 6;    // draws of these trials for each task
  bool json = false;
};

// Means over models.
struct ModelFigures {
  std::size_t models = 0;
  // log2 of how much slower than the fastest program asked about: the model's first choice, and
  // the fastest of its first kFirstChoices.
  double first = 0, first_few = 0;
  double rank_correlation = 0;  // over the faster half of these programs
  double training_ms = 0;       // CPU time
};
inline constexpr std::size_t kFirstChoices = 8;
inline constexpr std::size_t kAskedAbout = 60;  // programs at least; a task with fewer is left out

// InvalidArgument: no task has trials enough, or `feature_names` have no estimate. The trials of a
// task are that half of a draw which the estimate finds faster, much as a search's are.
Result<ModelFigures> model_figures(const Tasks& tasks,
                                   const std::vector<std::string>& feature_names, unsigned trials,
                                   unsigned others, unsigned seeds,
                                   const cost::TimeModelOptions& how = {});

// Prints.
Result<void> run_model_bench(const ModelBenchOptions& options);

}  // namespace fettle::bench
