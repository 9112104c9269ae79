// Recording a space (record_space.h).
#include "tests/bench/record_space.h"

#include <cstdio>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "host/backend/backend.h"
#include "host/records/queries.h"
#include "host/replay/recording.h"
#include "host/space/workload.h"
#include "host/tune/tune.h"
#include "tests/bench/local_loop.h"

namespace fettle::bench {
namespace {

Result<std::vector<replay::Kept>> parse_keep(const std::vector<std::string>& texts) {
  std::vector<replay::Kept> keep;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    const auto value = sign == std::string::npos
                           ? nlohmann::json()
                           : nlohmann::json::parse(text.substr(sign + 1), nullptr, false);
    replay::Kept kept{text.substr(0, sign), 1, {}};
    try {
      if (value.is_number_unsigned()) {
        kept.count = value;
      } else {
        kept.options = value.get<std::vector<std::vector<std::int64_t>>>();
      }
    } catch (const nlohmann::json::exception&) {
      return Error{ErrorCode::InvalidArgument,
                   "--keep wants KNOB=N or KNOB=[[OPTION],…], not \"" + text + "\""};
    }
    keep.push_back(std::move(kept));
  }
  return keep;
}

Result<std::vector<records::TuningRecord>> known(const records::Database& database,
                                                 const space::Workload& workload,
                                                 const space::Target& target) {
  records::Filter filter;
  filter.workload = workload.canonical();
  filter.target = target.canonical();
  return records::history(database, filter);
}

tune::TuneOptions tune_options(const space::SearchSpace& space) {
  tune::TuneOptions options;
  options.trials = static_cast<std::uint32_t>(space.size());
  options.racing = false;
  // Short samples, several of them: the median of quiet ones is what counts.
  options.measure.min_repeat_ms = 2;
  options.measure.repeat = 9;
  options.measure.min_samples = 5;
  options.measure.relative_interval = 0.005;
  return options;
}

Result<void> add_features(replay::Recording& recording, const backend::Task& task) {
  recording.feature_names = backend::find_backend(recording.target.backend())->feature_names();
  for (replay::RecordedTrial& trial : recording.trials) {
    // The trial's choices are of the recorded part; the back end knows the whole space.
    auto configuration = task.space().parse(recording.space.to_json(trial.configuration));
    if (!configuration) return std::move(configuration).error();
    trial.features.clear();
    if (auto features = task.features(*configuration)) trial.features = std::move(*features);
  }
  return {};
}

Result<void> renew_features(const std::string& path) {
  auto recording = replay::read_recording(path);
  if (!recording) return std::move(recording).error();
  auto opened = backend::open_task(recording->workload, recording->target);
  if (!opened) return std::move(opened).error();
  if (!(*opened)->lowers()) {
    return Error{ErrorCode::Unsupported, "its back end computes no features", {}};
  }
  if (auto added = add_features(*recording, **opened); !added) return added;
  const std::string unfinished = path + ".new";
  auto written = replay::write_recording(*recording, unfinished);
  std::error_code failed;
  if (written) std::filesystem::rename(unfinished, path, failed);
  if (failed) written = Error{ErrorCode::Io, "cannot replace it: " + failed.message(), {}};
  if (!written) std::filesystem::remove(unfinished, failed);
  return written;
}

}  // namespace

Result<void> run_renew_features(const std::vector<std::string>& recordings) {
  for (const std::string& path : recordings) {
    if (auto renewed = renew_features(path); !renewed) {
      return std::move(renewed).error().in("computing the features of " + path);
    }
  }
  return {};
}

Result<void> run_record_space(const RecordSpaceOptions& options) {
  auto list = tasks_of(options.network);
  if (!list) return std::move(list).error();
  if (options.task >= list->tasks.size()) {
    return Error{ErrorCode::InvalidArgument,
                 options.network + " has only " + std::to_string(list->tasks.size()) + " tasks"};
  }
  const space::Task& task = list->tasks[options.task];
  auto keep = parse_keep(options.keep);
  if (!keep) return std::move(keep).error();
  auto loop = LocalLoop::open(options.db, options.seconds, 1, options.device, list->folder);
  if (!loop) return std::move(loop).error();
  const space::Target& target = (*loop)->target();
  auto opened = backend::open_task(task.workload, target);
  if (!opened) return std::move(opened).error();
  const space::SearchSpace* whole = &(*opened)->space();
  auto space = options.whole ? Result<space::SearchSpace>(*whole)
                             : replay::thin_out(*whole, options.sketch, *keep);
  if (!space) return std::move(space).error();
  std::fprintf(stderr, "%s: %.0f of %.4g configurations\n", task.workload.title().c_str(),
               space->size(), whole->size());
  auto history = known((*loop)->database(), task.workload, target);
  if (!history) return std::move(history).error();
  std::vector<tune::TuneTask> tasks;
  tasks.push_back(
      {task, &*space, tune::make_searcher("grid", *space, {}).value(), std::move(*history)});
  const auto summary = (*loop)->run(tasks, tune_options(*space), "record-space " + options.network);
  if (!summary) return summary.error();
  std::fprintf(stderr, "%u of %u trials in the database\n", summary->progress.trials,
               summary->progress.trials_wanted);
  auto records = known((*loop)->database(), task.workload, target);
  if (!records) return std::move(records).error();
  auto recording = replay::make_recording(task.workload, target, std::move(*space), *records);
  if (!recording) return std::move(recording).error();
  recording->device = (*loop)->device().name;
  if ((*opened)->lowers()) {
    if (auto added = add_features(*recording, **opened); !added) return added;
  }
  return replay::write_recording(*recording, options.output);
}

}  // namespace fettle::bench
