// Recordings in memory (recording.h); their file is in recording_file.cpp.
#include "host/replay/recording.h"
#include "host/space/workload.h"

#include <algorithm>
#include <memory>
#include <set>

namespace fettle::replay {

namespace {

std::string key_of(const space::Configuration& configuration) {
  std::string key = std::to_string(configuration.sketch);
  for (std::uint32_t choice : configuration.choice) key += "," + std::to_string(choice);
  return key;
}

std::vector<space::KnobValue> values_of(const space::Sketch& sketch, const RecordedTrial& trial) {
  std::vector<space::KnobValue> values;
  for (std::size_t k = 0; k < sketch.knobs.size(); ++k) {
    values.push_back(sketch.knobs[k].options[trial.configuration.choice[k]]);
  }
  return values;
}

space::Constraint is_recorded(
    const space::Sketch& sketch,
    const std::shared_ptr<const std::set<std::vector<space::KnobValue>>>& recorded) {
  space::Constraint constraint{"it was recorded", {}, nullptr};
  for (const space::Knob& knob : sketch.knobs) constraint.knobs.push_back(knob.name);
  constraint.holds = [recorded](std::span<const space::KnobValue* const> values) {
    std::vector<space::KnobValue> point;
    for (const space::KnobValue* value : values) point.push_back(*value);
    return recorded->contains(point);
  };
  return constraint;
}

// Of all combinations those whose constraints hold.
std::uint64_t size_of(const space::SearchSpace& space) {
  std::uint64_t size = 0;
  for (std::uint64_t i = 0; double(i) < space.size(); ++i) size += space.contains(space.at(i));
  return size;
}

RecordedTrial trial_of(const records::TuningRecord& record, space::Configuration configuration) {
  RecordedTrial trial;
  trial.configuration = std::move(configuration);
  trial.program = record.program_hash.substr(0, 16);
  if (const auto nanoseconds = record.nanoseconds()) {
    const wire::MeasurementT& measurement = *record.measurement();
    trial.nanoseconds = *nanoseconds;
    trial.interval_low = measurement.interval_low / measurement.ticks_per_second * 1e9;
  } else if (const wire::FailureT* failure = record.failure()) {
    trial.stage = failure->stage;
    trial.code = failure->error ? failure->error->code : ErrorCode::Internal;
    trial.message = failure->error ? failure->error->message : "";
  }
  return trial;
}

}  // namespace

double Recording::best_nanoseconds() const {
  double best = 0;
  for (const RecordedTrial& trial : trials) {
    if (trial.nanoseconds > 0 && (best == 0 || trial.nanoseconds < best)) best = trial.nanoseconds;
  }
  return best;
}

Result<std::size_t> Recording::find(const space::Configuration& configuration) const {
  const auto place = places_.find(key_of(configuration));
  if (place != places_.end()) return place->second;
  return Error{ErrorCode::NotFound, "configuration " + key_of(configuration) + " of " +
                                        workload.title() + " is not in the recording"};
}

Result<std::vector<float>> Recording::features_of(const space::Configuration& configuration) const {
  const auto place = find(configuration);
  if (!place) return place.error();
  const RecordedTrial& trial = trials[*place];
  if (trial.features.empty()) return Error{trial.code, trial.message, {}};
  return trial.features;
}

void Recording::index_trials() {
  places_.clear();
  for (std::size_t i = 0; i < trials.size(); ++i) places_[key_of(trials[i].configuration)] = i;
  std::vector<space::Sketch> sketches = space.sketches();
  for (std::uint32_t s = 0; s < sketches.size(); ++s) {
    sketches[s].constraints.clear();
    auto recorded = std::make_shared<std::set<std::vector<space::KnobValue>>>();
    for (const RecordedTrial& trial : trials) {
      if (trial.configuration.sketch == s) recorded->insert(values_of(sketches[s], trial));
    }
    if (double(recorded->size()) < sketches[s].size()) {
      sketches[s].constraints.push_back(is_recorded(sketches[s], recorded));
    }
  }
  space = space::SearchSpace(std::move(sketches));
}

Result<Recording> make_recording(space::Workload workload, space::Target target,
                                 space::SearchSpace space,
                                 const std::vector<records::TuningRecord>& records) {
  Recording recording;
  recording.workload = std::move(workload);
  recording.target = std::move(target);
  recording.space = std::move(space);
  std::unordered_map<std::string, std::size_t> places;
  for (const records::TuningRecord& record : records) {
    auto configuration = recording.space.parse(record.configuration);
    if (!configuration) continue;  // of the whole space, not of this part
    const std::string key = key_of(*configuration);
    RecordedTrial trial = trial_of(record, std::move(*configuration));
    const auto [place, fresh] = places.emplace(key, recording.trials.size());
    if (fresh) {
      recording.trials.push_back(std::move(trial));
    } else {
      recording.trials[place->second] = std::move(trial);
    }
  }
  const std::uint64_t size = size_of(recording.space);
  if (recording.trials.size() < size) {
    return Error{ErrorCode::InvalidArgument,
                 "only " + std::to_string(recording.trials.size()) + " of " + std::to_string(size) +
                     " configurations of " + recording.workload.title() + " are recorded"};
  }
  recording.index_trials();
  return recording;
}

Result<space::SearchSpace> thin_out(const space::SearchSpace& space, const std::string& sketch,
                                    const std::vector<Kept>& kept) {
  std::vector<space::Sketch> sketches = space.sketches();
  std::erase_if(sketches, [&](const auto& each) { return !sketch.empty() && each.name != sketch; });
  if (sketches.empty()) {
    return Error{ErrorCode::InvalidArgument, "there is no sketch \"" + sketch + "\""};
  }
  std::vector<bool> used(kept.size(), false);
  for (space::Sketch& each : sketches) {
    for (space::Knob& knob : each.knobs) {
      Kept rule{knob.name, 1, {}};
      for (std::size_t i = 0; i < kept.size(); ++i) {
        if (kept[i].knob == knob.name) rule = kept[i], used[i] = true;
      }
      for (const auto& option : rule.options) {
        if (std::find(knob.options.begin(), knob.options.end(), option) == knob.options.end()) {
          return Error{ErrorCode::InvalidArgument, "knob \"" + knob.name + "\" has no such option"};
        }
      }
      if (rule.options.empty()) {
        const std::size_t all = knob.options.size();
        const std::size_t wanted = std::clamp<std::size_t>(rule.count, 1, all);
        // The middles of `wanted` equal parts.
        for (std::size_t i = 0; i < wanted; ++i) {
          rule.options.push_back(knob.options[(2 * i + 1) * all / (2 * wanted)]);
        }
      }
      std::erase_if(knob.options, [&](const auto& option) {
        return std::find(rule.options.begin(), rule.options.end(), option) == rule.options.end();
      });
    }
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (!used[i]) {
      return Error{ErrorCode::InvalidArgument, "there is no knob \"" + kept[i].knob + "\""};
    }
  }
  return space::SearchSpace(std::move(sketches));
}

}  // namespace fettle::replay
