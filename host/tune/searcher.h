// Searcher, CostModel and TaskScheduler: the three decisions of a session.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/space/search_space.h"
#include "schemas/wire/result.h"

namespace fettle::tune {

// What a searcher learns of one trial. Censored: at least this slow.
struct Observation {
  space::Configuration configuration;
  std::optional<double> nanoseconds;  // per run; empty: the candidate failed
  bool censored = false;
  std::span<const float> features;  // of the built program; may be empty
};

// Proposes configurations of one task's space. Not thread-safe; used from the loop only.
class Searcher {
 public:
  virtual ~Searcher() = default;
  // Up to n configurations never proposed or observed before; fewer, or none,
  // when the space is exhausted.
  virtual std::vector<space::Configuration> propose(std::size_t n) = 0;
  virtual void observe(const Observation& observation) = 0;
};

// Predicts the score of configurations (higher is better) from observations.
class CostModel {
 public:
  virtual ~CostModel() = default;
  virtual void observe(const Observation& observation) = 0;
  virtual std::vector<float> predict(std::span<const space::Configuration> configurations) = 0;
};

struct SearcherOptions {
  std::uint64_t seed = 0;
};
// NotFound: names the searchers that there are.
Result<std::unique_ptr<Searcher>> make_searcher(const std::string& name,
                                                const space::SearchSpace& space,
                                                const SearcherOptions& options);
std::vector<std::string> searcher_names();

// How one task stands, for the scheduler.
struct TaskState {
  double weight = 1;
  std::uint32_t proposed = 0, finished = 0;
  double best_nanoseconds = 0;  // 0: none yet
  std::uint32_t since_improvement = 0;
  bool exhausted = false;  // no more proposals, or stopped early
};

class TaskScheduler {
 public:
  virtual ~TaskScheduler() = default;
  // The task whose candidates are proposed next; nothing when all are exhausted.
  virtual std::optional<std::size_t> next(std::span<const TaskState> tasks) = 0;
};
std::unique_ptr<TaskScheduler> make_round_robin();

}  // namespace fettle::tune
