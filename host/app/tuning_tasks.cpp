// A session's tasks (tuning_tasks.h).
#include "host/app/tuning_tasks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "host/app/first_configurations.h"
#include "host/app/message.h"
#include "host/app/record_database.h"
#include "host/app/transfer.h"
#include "host/cost/time_model.h"
#include "host/records/queries.h"
#include "host/space/workload.h"
#include "host/tune/background.h"
#include "host/tune/outcomes.h"
#include "host/tune/started_searcher.h"

namespace fettle::app {

Result<OpenTasks> open_tasks(const model::TaskList& list, const space::Target& target) {
  OpenTasks result;
  if (!backend::find_backend(target.backend())) {
    return Error{
        ErrorCode::Unsupported, "no back end \"" + target.backend() + "\" in this build", {}};
  }
  for (const space::Task& task : list.tasks) {
    auto opened = backend::open_task(task.workload, target);
    // Of many layers some may be nothing for a device; a kernel is the only thing asked for.
    if (!opened && opened.error().code == ErrorCode::Unsupported && !task.workload.kernel()) {
      warn("skipped: " + task.workload.title() + ": " + opened.error().text());
      continue;
    }
    if (!opened && task.workload.kernel()) return std::move(opened).error();
    if (!opened)
      return std::move(opened.error()).in("making the search space of " + task.workload.title());
    result.tasks.push_back(task);
    result.opened.push_back(std::move(*opened));
  }
  if (result.tasks.empty()) {
    return Error{ErrorCode::Unsupported, "the device can run no task of " + list.name, {}};
  }
  return result;
}

Result<std::vector<std::vector<records::TuningRecord>>> history_of(
    const records::Database& database, const OpenTasks& open, const space::Target& target,
    const wire::DeviceInfoT& device, bool cold, const TuneCommand& command) {
  std::vector<std::vector<records::TuningRecord>> histories;
  std::size_t total = 0, known = 0;
  for (std::size_t i = 0; i < open.tasks.size(); ++i) {
    records::Filter filter;
    filter.workload = open.tasks[i].workload.canonical();
    filter.target = target.canonical();
    filter.device_key = device.key;
    filter.emulated = device.emulated;
    filter.clock = device.clock;
    filter.cold_weights = cold;
    auto history = records::history(database, filter);
    if (!history) return history.error();
    total += history->size();
    // As host/tune/trials.cpp counts them: a lost board's, say, are tried again.
    const auto& space = open.opened[i]->space();
    known += static_cast<std::size_t>(std::count_if(
        history->begin(), history->end(), [&space](const records::TuningRecord& record) {
          return !tune::transient(record.outcome) && space.parse(record.configuration).ok();
        }));
    histories.push_back(command.resume ? std::move(*history)
                                       : std::vector<records::TuningRecord>());
  }
  if (command.resume) {
    note(fmt::format("resuming: {} trials of these tasks are in {}", known,
                     records::shown_database(command.db)));
    if (known >= command.trials) {
      note(fmt::format("they count: --trials {} leaves none to try; a larger one goes on",
                       command.trials));
    }
  } else if (total > 0) {
    note(
        fmt::format("{} holds {} trials of these tasks already; they are kept and new ones are "
                    "added (--resume would go on from them)",
                    records::shown_database(command.db), total));
  }
  return histories;
}

Result<void> transfer(const records::Database& database, const wire::DeviceInfoT& device,
                      const space::Target& target, const std::vector<space::Task>& tasks,
                      bool resumed, bool cold, bool with_prior,
                      std::shared_ptr<cost::Experience> experience, tune::Background* background) {
  auto lessons = earlier_lessons(database, device, target, tasks, resumed, cold);
  if (!lessons) return lessons.error();
  const backend::Backend& backend = *backend::find_backend(target.backend());
  auto learn = [lessons = std::move(*lessons), experience, &backend, target, with_prior] {
    learn_lessons(lessons, backend, target, with_prior, *experience);
  };
  if (background) {
    background->post(std::move(learn));
  } else {
    learn();
  }
  return {};
}

Result<std::vector<tune::TuneTask>> searched_tasks(
    const TuneCommand& command, const OpenTasks& open,
    std::vector<std::vector<records::TuningRecord>>& histories, const space::Target& target,
    std::shared_ptr<cost::Experience> experience, tune::Background* background,
    const tune::Pace& pace) {
  const std::vector<std::string> features =
      backend::find_backend(target.backend())->feature_names();
  std::vector<std::vector<space::Configuration>> first(open.tasks.size());
  if (!command.first.empty()) {
    auto read = first_configurations(command.first, open.tasks, open.opened, target);
    if (!read) return std::move(read).error();
    first = std::move(*read);
  }
  std::vector<tune::TuneTask> tasks;
  for (std::size_t i = 0; i < open.tasks.size(); ++i) {
    const backend::Task& opened = *open.opened[i];
    tune::TuneTask task{open.tasks[i], &opened.space(), nullptr, std::move(histories[i])};
    tune::SearcherOptions how;
    how.seed = command.seed * 1000003 + i;
    if (opened.lowers()) {
      how.features = [&opened](const space::Configuration& configuration) {
        return opened.features(configuration);
      };
      how.itervar_features = [&opened](const space::Configuration& configuration) {
        return opened.itervar_features(configuration);
      };
      how.feature_count = features.size();
      how.estimate = cost::estimate_among(features);
      how.screen = [&opened](std::span<const float> features) { return opened.screen(features); };
      if (command.prior) how.prior = cost::shipped_prior(task.task.workload, target, features);
      how.experience = experience;
    }
    how.task = task.task.workload.canonical();
    how.background = background;
    if (background) how.pace = &pace;
    how.trials = (command.trials + open.tasks.size() - 1) / open.tasks.size();
    auto searcher = tune::make_searcher(command.searcher, *task.space, how);
    if (!searcher) return searcher.error();
    task.searcher = first[i].empty()
                        ? std::move(*searcher)
                        : tune::make_started(std::move(*searcher), std::move(first[i]));
    tasks.push_back(std::move(task));
  }
  return tasks;
}

}  // namespace fettle::app
