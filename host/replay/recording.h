// Recording: a search space of one task, every configuration of it once built and
// measured. What searchers are compared on, without a board and without noise.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/records/record.h"
#include "host/space/search_space.h"
#include "host/space/target.h"
#include "host/space/workload.h"
#include "schemas/wire/result.h"

namespace fettle::replay {

struct RecordedTrial {
  space::Configuration configuration;
  std::string program;      // of the artifact: equal texts, equal programs; "" when not built
  double nanoseconds = 0;   // per run; 0: it failed
  double interval_low = 0;  // of the median: what a trial stopped by racing would tell
  wire::Stage stage{};      // of the failure
  ErrorCode code{};
  std::string message;
  std::vector<float> features;  // as the back end computed them then; empty: it did not lower
};

// The space is kept in the recording, so that it outlives changes of the sketches.
// It is a part of what the sketches had: the same knobs with fewer options. Combinations that are
// not recorded are none of its configurations: those that constraints forbade.
struct Recording {
  space::Workload workload;
  space::Target target;
  std::string device;  // for people: the CPU and how it was measured
  std::vector<std::string> feature_names;
  space::SearchSpace space{{}};
  std::vector<RecordedTrial> trials;

  double best_nanoseconds() const;  // 0: nothing was measured
  // Index into trials; NotFound: not recorded.
  Result<std::size_t> find(const space::Configuration& configuration) const;
  // NotFound; the trial's own failure when it did not lower.
  Result<std::vector<float>> features_of(const space::Configuration& configuration) const;
  // After `trials` changed, before find(): the space becomes that of the trials.
  void index_trials();

 private:
  std::unordered_map<std::string, std::size_t> places_;
};

// The trials of `records` that belong to the space; the last one of a configuration
// counts. InvalidArgument: some configuration of the space, whose constraints hold, has none.
Result<Recording> make_recording(space::Workload workload, space::Target target,
                                 space::SearchSpace space,
                                 const std::vector<records::TuningRecord>& records);

// What is kept of a knob: so many options, evenly taken from the present ones, or
// exactly these.
struct Kept {
  std::string knob;
  std::size_t count = 1;
  std::vector<std::vector<std::int64_t>> options;  // empty: by count
};
// A space with one option of each knob, the middle one, but what `kept` says. `sketch`:
// only this one; "": all. InvalidArgument: a sketch, knob or option that there is not.
Result<space::SearchSpace> thin_out(const space::SearchSpace& space, const std::string& sketch,
                                    const std::vector<Kept>& kept);

// Gzipped JSON lines: one of the task and its space, then one per trial. Io,
// DiskFull; Malformed names the line.
Result<void> write_recording(const Recording& recording, const std::string& path);
Result<Recording> read_recording(const std::string& path);

}  // namespace fettle::replay
