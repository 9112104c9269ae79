// Searcher and TaskScheduler: the decisions of a session.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/cost/experience.h"
#include "host/cost/prior.h"
#include "host/space/search_space.h"
#include "schemas/wire/result.h"

namespace fettle::tune {

class Background;
class Pace;

// What a searcher learns of one trial. Censored: racing stopped it as too slow, and its
// time is what the few samples until then say.
struct Observation {
  space::Configuration configuration;
  std::optional<double> nanoseconds;  // per run; empty: the candidate failed
  bool censored = false;
  std::span<const float> features;  // of the built program; may be empty
  // The environment ended the trial: it says nothing of the candidate.
  bool lost = false;
};

// What a search cost besides its trials.
struct SearchStatistics {
  std::uint64_t plans = 0;      // made with a trained model
  double thought = 0;           // of these, all together; 1 each: plain thought (pace.h)
  std::uint64_t lowered = 0;    // configurations whose features were computed
  std::uint64_t unlowered = 0;  // of those: no program can be made of them
  std::uint64_t screened = 0;   // of those: the static screen took them out
  double feature_seconds = 0, training_seconds = 0, planning_seconds = 0;  // the last: all of it
  SearchStatistics& operator+=(const SearchStatistics& other);
  double mean_thought() const { return plans > 0 ? thought / static_cast<double>(plans) : 1; }
};

// Proposes configurations of one task's space. Not thread-safe; used from the loop only.
class Searcher {
 public:
  virtual ~Searcher() = default;
  // Up to n configurations never proposed or observed before; fewer, or none,
  // when the space is exhausted.
  virtual std::vector<space::Configuration> propose(std::size_t n) = 0;
  virtual void observe(const Observation& observation) = 0;
  // False: the next proposal is being worked out, and propose() would wait for it.
  virtual bool ready() { return true; }
  virtual SearchStatistics statistics() const { return {}; }
};

// Features of the program that a configuration makes, without compiling it: as those
// of an Observation. An Error: it makes none. Called from other threads too.
using FeatureFunction = std::function<Result<std::vector<float>>(const space::Configuration&)>;
// Why a program is not worth building, from its features; null: it may be.
using ScreenFunction = std::function<const char*(std::span<const float>)>;

struct SearcherOptions {
  std::uint64_t seed = 0;
  // What a learned model rests on. Without features it sees the knobs only.
  FeatureFunction features;
  // What xgb-itervar rests on: each loop of the program, equally many numbers for every
  // configuration. Others do not ask for it.
  FeatureFunction itervar_features;
  std::size_t feature_count = 0;
  std::optional<std::size_t> estimate;  // which feature is log2 of an estimated time
  // Corrects that estimate; null: it is taken as it is.
  std::shared_ptr<const cost::Prior> prior;
  ScreenFunction screen;
  // Shared by the searchers of a session, with estimates as each task's prior has them;
  // `task` names this one's trials in it.
  std::shared_ptr<cost::Experience> experience;
  std::string task;
  // Where plans are made, beside the loop; it must outlive the searcher. Null: inside
  // propose(), so that proposals depend on the seed and the observations alone.
  Background* background = nullptr;
  // How many the task may expect: the more, the more thought goes into each plan. 0: not known.
  std::size_t trials = 0;
  // Whether boards wait for what is planned; it must outlive the searcher. Null: they never do, so
  // that proposals depend on the seed and the observations alone.
  const Pace* pace = nullptr;
};
// NotFound: names the searchers that there are. Unsupported: the name's searcher needs what these
// options do not have.
Result<std::unique_ptr<Searcher>> make_searcher(const std::string& name,
                                                const space::SearchSpace& space,
                                                const SearcherOptions& options);
std::vector<std::string> searcher_names();
// `xgb` of earlier versions, which old sessions are recorded under, is `xgb-knob`; others are what
// they are. make_searcher() takes both.
std::string current_searcher_name(const std::string& name);

// How one task stands, for the scheduler.
struct TaskState {
  double weight = 1;
  std::uint32_t proposed = 0, finished = 0;
  double best_nanoseconds = 0;   // 0: none yet
  double least_nanoseconds = 0;  // that the board's roofline leaves it; 0: not known
  std::uint32_t since_improvement = 0;
  bool ready = true;       // as Searcher::ready()
  bool exhausted = false;  // no more proposals, or stopped early
  bool any_measured = false;
  double operations = 0;  // nominal, of one run
  std::string kind;       // of operator: tasks of one kind can be about as fast
};

class TaskScheduler {
 public:
  virtual ~TaskScheduler() = default;
  // The task whose candidates are proposed next; nothing when all are exhausted. One that
  // is not ready: there is no other that would be worth it.
  virtual std::optional<std::size_t> next(std::span<const TaskState> tasks) = 0;
};
std::unique_ptr<TaskScheduler> make_round_robin();
// The task whose further trials shorten its time most, in itself and as a part of
// sum(weight * time), as far as its past, its like and the roofline tell.
std::unique_ptr<TaskScheduler> make_gradient(std::uint64_t seed);
// "gradient" or "round-robin". NotFound names them.
Result<std::unique_ptr<TaskScheduler>> make_scheduler(const std::string& name, std::uint64_t seed);

}  // namespace fettle::tune
