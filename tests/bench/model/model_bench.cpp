// Training on some trials, asking about others (model_bench.h).
#include "tests/bench/model/model_bench.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <random>

#include <nlohmann/json.hpp>

#include "tests/bench/process_cpu.h"
#include "tests/bench/rank_correlation.h"

namespace fettle::bench {
namespace {

using Samples = std::vector<cost::Sample>;

// Some tasks' trials beside `task`, as a session that tunes them all has them: with the times of
// stopped trials as if they were whole.
std::vector<cost::Sample> trials_beside(const Tasks& tasks, const std::string& task,
                                        unsigned most_tasks, unsigned trials, std::size_t estimate,
                                        std::mt19937_64& rng) {
  std::vector<const std::string*> names;
  for (const auto& [name, samples] : tasks) {
    if (workload_of_key(name) != workload_of_key(task)) names.push_back(&name);
  }
  std::shuffle(names.begin(), names.end(), rng);
  if (names.size() > most_tasks) names.resize(most_tasks);
  cost::Experience experience;
  for (const std::string* name : names) {
    Samples samples = tasks.at(*name);
    std::shuffle(samples.begin(), samples.end(), rng);
    if (samples.size() > trials) samples.resize(trials);
    for (cost::Sample& sample : samples) {
      sample.censored = false;
      experience.add(*name, std::move(sample));
    }
  }
  return experience.beside(task, estimate);
}

// Adds what a model's times say of these programs to `sum`.
void judge(const std::vector<float>& expected, const Samples& programs, ModelFigures& sum) {
  std::vector<std::size_t> choices(programs.size());
  std::iota(choices.begin(), choices.end(), 0);
  std::vector<std::size_t> fastest = choices;
  const auto less_in = [](const auto& value) {
    return [&value](std::size_t a, std::size_t b) { return value(a) < value(b); };
  };
  const auto told = [&](std::size_t i) { return expected[i]; };
  const auto took = [&](std::size_t i) { return programs[i].nanoseconds; };
  std::stable_sort(choices.begin(), choices.end(), less_in(told));
  std::stable_sort(fastest.begin(), fastest.end(), less_in(took));
  const double best = took(fastest.front());
  const std::size_t few = std::min(kFirstChoices, choices.size());
  sum.first += std::log2(took(choices.front()) / best);
  const auto of_few = std::min_element(
      choices.begin(), choices.begin() + static_cast<std::ptrdiff_t>(few), less_in(took));
  sum.first_few += std::log2(took(*of_few) / best);
  std::vector<double> told_of_half, took_of_half;
  for (std::size_t i = 0; i < fastest.size() / 2; ++i) {
    told_of_half.push_back(told(fastest[i]));
    took_of_half.push_back(took(fastest[i]));
  }
  sum.rank_correlation += rank_correlation(told_of_half, took_of_half);
}

}  // namespace

Result<ModelFigures> model_figures(const Tasks& tasks,
                                   const std::vector<std::string>& feature_names, unsigned trials,
                                   unsigned others, unsigned seeds,
                                   const cost::TimeModelOptions& given) {
  cost::TimeModelOptions how = given;
  how.estimate = cost::estimate_among(feature_names);
  if (!how.estimate) {
    return Error{ErrorCode::InvalidArgument, "no trial has an estimated time", {}};
  }
  const std::size_t drawn = 2 * std::size_t{trials};
  ModelFigures sum;
  for (const auto& [task, all] : tasks) {
    if (all.size() < drawn + kAskedAbout) continue;
    for (unsigned seed = 0; seed < seeds; ++seed) {
      std::mt19937_64 rng(seed);
      Samples samples = all;
      std::shuffle(samples.begin(), samples.end(), rng);
      const auto rest = samples.begin() + static_cast<std::ptrdiff_t>(drawn);
      std::sort(samples.begin(), rest, [&](const cost::Sample& a, const cost::Sample& b) {
        return a.features[*how.estimate] < b.features[*how.estimate];
      });
      std::vector<cost::Trial> known;
      for (unsigned i = 0; i < trials; ++i) {
        // So they are to the search, too (host/tune/evolutionary_planner.cpp).
        known.push_back({samples[i].features, samples[i].nanoseconds, false});
      }
      const auto beside = trials_beside(tasks, task, others, trials, *how.estimate, rng);
      const double begun = thread_milliseconds();
      const auto model = cost::TimeModel::train(feature_names.size(), known, beside, how, seed);
      if (!model) return model.error();
      sum.training_ms += thread_milliseconds() - begun;
      const Samples programs(rest, samples.end());
      cost::Table table{feature_names.size(), {}};
      for (const cost::Sample& program : programs) table.add(program.features);
      judge(model->mean(table), programs, sum);
      ++sum.models;
    }
  }
  if (sum.models == 0) {
    return Error{ErrorCode::InvalidArgument,
                 "no task has " + std::to_string(drawn + kAskedAbout) + " trials",
                 {}};
  }
  for (double* figure : {&sum.first, &sum.first_few, &sum.rank_correlation, &sum.training_ms}) {
    *figure /= static_cast<double>(sum.models);
  }
  return sum;
}

Result<void> run_model_bench(const ModelBenchOptions& options) {
  const auto lessons = read_lessons(options.databases, {});
  if (!lessons) return lessons.error();
  for (const unsigned trials : options.trials) {
    const auto found = model_figures(lessons->tasks(), lessons->feature_names(), trials,
                                     options.others, options.seeds);
    if (!found) return found.error();
    if (options.json) {
      std::cout << nlohmann::json{{"benchmark", "model"},
                                  {"trials", trials},
                                  {"others", options.others},
                                  {"models", found->models},
                                  {"first_log2", found->first},
                                  {"first_" + std::to_string(kFirstChoices) + "_log2",
                                   found->first_few},
                                  {"rank_correlation", found->rank_correlation},
                                  {"training_ms", found->training_ms}}
                       .dump()
                << std::endl;
      continue;
    }
    std::printf(
        "%3u trials beside those of %u tasks: the first choice %.1f %% slower than the best, the "
        "first %zu %.1f %%; rank %.3f; training %.1f ms (%zu models)\n",
        trials, options.others, 100 * (std::exp2(found->first) - 1), kFirstChoices,
        100 * (std::exp2(found->first_few) - 1), found->rank_correlation, found->training_ms,
        found->models);
    std::fflush(stdout);
  }
  return {};
}

}  // namespace fettle::bench
