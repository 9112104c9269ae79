// The tasks of a session: opened, with what earlier sessions left of them, and their searchers.
#pragma once

#include <memory>
#include <vector>

#include "host/app/tuning_session.h"
#include "host/backend/backend.h"
#include "host/cost/experience.h"
#include "host/model/task_list.h"
#include "host/records/database.h"
#include "host/space/target.h"
#include "host/tune/pace.h"
#include "host/tune/tune.h"

namespace fettle::app {

// The tasks that the back end has a search space for, opened.
struct OpenTasks {
  std::vector<space::Task> tasks;
  std::vector<std::unique_ptr<const backend::Task>> opened;
};

// A layer that the device cannot run is skipped with a warning. Unsupported: no such back end is in
// this build, or the device can run none of them, or not the kernel that was asked for.
Result<OpenTasks> open_tasks(const model::TaskList& list, const space::Target& target);

// Old records of the tasks: fed to the search with --resume, mentioned without. Those of
// an emulator are nothing to a board, nor the other way; nor are times with weights in the caches
// to times without.
Result<std::vector<std::vector<records::TuningRecord>>> history_of(
    const records::Database& database, const OpenTasks& open, const space::Target& target,
    const wire::DeviceInfoT& device, bool cold, const TuneCommand& command);

// Teaches `experience` what earlier sessions left: at once, or on `background`. `cold` as of
// history_of().
Result<void> transfer(const records::Database& database, const wire::DeviceInfoT& device,
                      const space::Target& target, const std::vector<space::Task>& tasks,
                      bool resumed, bool cold, bool with_prior,
                      std::shared_ptr<cost::Experience> experience, tune::Background* background);

// Tasks with their searchers. Takes the histories.
Result<std::vector<tune::TuneTask>> searched_tasks(
    const TuneCommand& command, const OpenTasks& open,
    std::vector<std::vector<records::TuningRecord>>& histories, const space::Target& target,
    std::shared_ptr<cost::Experience> experience, tune::Background* background,
    const tune::Pace& pace);

}  // namespace fettle::app
