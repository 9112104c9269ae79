// Trials: every candidate between being proposed and being recorded, and how the
// tasks stand. tune() moves candidates along; this class decides nothing about time.
//
//   building ─→ waiting ─→ on a board ─→ recorded
//       └─ failed: recorded   └─ twin of one on a board: waits for its outcome
#pragma once

#include <deque>
#include <map>
#include <unordered_map>

#include "host/tune/artifacts.h"
#include "host/tune/finalists.h"
#include "host/tune/tally.h"
#include "host/tune/tune.h"

namespace fettle::tune {

class Trials {
 public:
  Trials(std::vector<TuneTask>& tasks, const space::Target& target, const TuneOptions& options,
         TuneParts& parts);

  // False when every trial wanted is recorded, or none can be had any more.
  bool working() const;

  // propose: the task that is to give the next candidate, while builders have room.
  std::optional<std::size_t> wants_candidate();
  void propose(std::size_t task);
  // build, measure, record + observe.
  Result<void> take_built(Built built);
  Result<void> feed_boards();
  Result<void> take_measured(Measured measured);
  // Results that cannot be judged wait here until their boards' ceilings are measured, for
  // the first time or, where a result is above the roofline, once more.
  bool in_doubt() const { return !doubted_.empty(); }
  Result<void> settle_doubts();

  void drop_unmeasured();  // after an interrupt: only what is on a board may still end
  bool boards_idle() const { return on_boards_ == 0; }
  // The task that is to give the next candidate is still working it out.
  bool awaits_searcher() const { return awaits_searcher_; }
  // No built candidate is there although a board has room.
  bool starved() const { return on_boards_ == 0 && waiting_.empty(); }

  Progress& progress() { return progress_; }
  const Tally& tally() const { return tally_; }
  const std::vector<Finalists>& finalists() const { return finalists_; }  // per task
  SearchStatistics search_statistics() const;

 private:
  struct Candidate {
    std::size_t task = 0;
    space::Configuration configuration;
    std::unique_ptr<wire::BuildOutputT> output;
    std::uint64_t build_ns = 0;
    std::uint32_t attempt = 1;
    unsigned built_again = 0;  // as its program was lost
  };
  void learn_history();
  bool answered(std::size_t task, const wire::OutcomeT& outcome) const;
  void build(std::uint64_t trial, const Candidate& candidate);
  void build_again(const Measured& lost);
  Result<void> submit(std::uint64_t trial);
  Result<void> finish(std::uint64_t trial, wire::OutcomeT outcome, bool reused);
  void observe(const Candidate& candidate, std::uint64_t trial, const wire::OutcomeT& outcome);
  void tell(std::size_t task, const Observation& observation, double least);
  bool batch_open();
  Result<void> accept(Measured measured);

  std::vector<TuneTask>& tasks_;
  const space::Target& target_;
  const std::string target_text_;
  const TuneOptions& options_;
  TuneParts& parts_;

  std::vector<TaskState> states_;
  std::vector<Artifacts> artifacts_;  // per task
  std::unordered_map<std::uint64_t, Candidate> candidates_;
  std::deque<std::uint64_t> waiting_;  // built, in order of arrival
  std::vector<bool> offered_;          // per task: expected outputs sent
  std::uint64_t next_trial_;
  std::size_t building_ = 0, on_boards_ = 0;
  std::uint32_t proposed_ = 0;
  bool closed_ = false, awaits_searcher_ = false;
  // Deterministic sessions: what a batch showed, by trial, until all of it is there.
  struct Held {
    std::size_t task;
    Observation observation;
    std::vector<float> features;
    double least;
  };
  std::map<std::uint64_t, Held> held_;
  std::uint32_t batch_left_ = 0;
  std::vector<Measured> doubted_;
  BoardRooflines rooflines_;
  Progress progress_;
  Tally tally_;  // writes there
  std::vector<Finalists> finalists_;
};

}  // namespace fettle::tune
