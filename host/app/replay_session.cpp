// run_replay (tuning_session.h): `fettle tune --replay`.
#include <algorithm>

#include "host/app/interrupt.h"
#include "host/app/message.h"
#include "host/app/tuning_report.h"
#include "host/cost/time_model.h"
#include "host/replay/replay.h"
#include "host/space/workload.h"
#include "host/tune/tune.h"

namespace fettle::app {
namespace {

// Nothing is stored: a replay shows nothing that was not measured before.
class NoRecords final : public tune::RecordSink {
 public:
  Result<void> add(const records::TuningRecord&) override { return {}; }
  Result<void> confirm(std::span<const records::Confirmation>) override { return {}; }
};

Result<std::vector<tune::TuneTask>> tasks_of(const std::vector<replay::Recording>& recordings,
                                             const TuneCommand& command) {
  auto experience = std::make_shared<cost::Experience>();
  std::vector<tune::TuneTask> tasks;
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    const replay::Recording& recording = recordings[i];
    tune::SearcherOptions how;
    how.seed = command.seed * 1000003 + i;
    how.feature_count = recording.feature_names.size();
    if (how.feature_count > 0) {
      how.features = [&recording](const space::Configuration& c) {
        return recording.features_of(c);
      };
    }
    how.estimate = cost::estimate_among(recording.feature_names);
    how.task = recording.workload.canonical();
    if (command.prior) {
      how.prior =
          cost::shipped_prior(recording.workload, recording.target, recording.feature_names);
    }
    // Recordings of several versions may have other features.
    const bool alike = recording.feature_names == recordings.front().feature_names;
    if (command.transfer && alike) how.experience = experience;
    auto searcher = tune::make_searcher(command.searcher, recording.space, how);
    if (!searcher) return std::move(searcher).error();
    tasks.push_back({{recording.workload, 1}, &recording.space, std::move(*searcher), {}});
  }
  return tasks;
}

Result<int> run(const TuneCommand& command) {
  Interrupt interrupt;
  std::vector<replay::Recording> recordings;
  std::vector<space::Workload> workloads;
  for (const std::string& path : command.replay) {
    auto recording = replay::read_recording(path);
    if (!recording) return std::move(recording).error();
    workloads.push_back(recording->workload);
    recordings.push_back(std::move(*recording));
  }
  auto tasks = tasks_of(recordings, command);
  if (!tasks) return std::move(tasks).error();
  auto scheduler = tune::make_scheduler(command.scheduler, command.seed);
  if (!scheduler) return std::move(scheduler).error();
  replay::ReplayBuilder builder(recordings);
  replay::ReplayRunner runner(recordings);
  tune::ExpectedOutputs expected(std::move(workloads), replay::no_expected_outputs);
  NoRecords records;
  tune::TuneOptions options;
  options.session = "replay";
  options.device_key = runner.device().key;
  options.trials = command.trials;
  options.early_stopping = command.early_stopping;
  // Replays are always reproducible: that is what they are for.
  options.deterministic = true;
  auto view = make_view(command, nullptr, nullptr);
  const tune::TuneSummary summary =
      tune::tune(*tasks, recordings.front().target, options,
                 {builder, runner, records, expected, **scheduler, interrupt, *view, {}, {}});
  view.reset();
  return report(command, summary, nullptr);
}

}  // namespace

int run_replay(const TuneCommand& command) {
  auto status = run(command);
  return status ? *status : fail(status.error());
}

}  // namespace fettle::app
