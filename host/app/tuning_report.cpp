// How a session is shown and ends (tuning_report.h).
#include "host/app/tuning_report.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "host/app/json_view.h"
#include "host/app/message.h"
#include "host/app/record_database.h"
#include "host/app/text.h"
#include "host/app/views.h"

namespace fettle::app {

std::unique_ptr<tune::TuneListener> make_view(const TuneCommand& command,
                                              const SessionBoards* boards,
                                              const RecordStore* store) {
  if (command.json) return make_json_view(store);
  if (command.quiet) return make_quiet_view();
  return is_redrawable(STDOUT_FILENO) ? make_live_view(boards) : make_plain_view();
}

// In this run, or in what it resumed.
static bool any_measured(const tune::Progress& progress) {
  return std::any_of(progress.tasks.begin(), progress.tasks.end(), [](const auto& task) {
    return task.best_nanoseconds || task.best_instructions;
  });
}

// The table or the summary object, the closing words, the exit status.
int report(const TuneCommand& command, const tune::TuneSummary& summary,
           const SessionBoards* boards) {
  if (command.json) {
    nlohmann::json object = summary_json(summary);
    if (command.replay.empty()) object["db"] = records::shown_database(command.db);
    print_json_line(object);
  } else {
    const std::size_t columns = terminal_columns(160);
    print_text(progress_table(summary.progress, columns, 1000, true));
    // A replay builds and measures nothing.
    if (command.replay.empty()) print_text(time_lines(summary));
    if (boards) print_text(boards_table(boards->boards(), columns, 1000));
    std::fflush(stdout);
  }
  const bool stored = command.replay.empty();
  if (summary.end == tune::SessionEnd::Failed) {
    fail(*summary.error);
    if (stored &&
        summary.error->code != ErrorCode::NotFound)  // else the error says where it is not
      note("everything measured before is in " + records::shown_database(command.db) +
           "; --resume goes on");
    return kFailed;
  }
  const auto& progress = summary.progress.tasks;
  const bool tried = std::any_of(progress.begin(), progress.end(),
                                 [](const auto& task) { return task.trials > 0; });
  if (tried && !any_measured(summary.progress)) {
    return fail("every trial failed" +
                (summary.main_cause.empty()
                     ? ", all before this run: `fettle records show` tells why"
                     : ": " + summary.main_cause));
  }
  if (summary.all_failed) {
    warn("every trial of this run failed: " + summary.main_cause +
         "; what was measured before it stands");
  }
  const auto& tasks = summary.progress.tasks;
  const auto untried =
      std::count_if(tasks.begin(), tasks.end(), [](const auto& task) { return task.trials == 0; });
  if (untried > 0 && summary.end == tune::SessionEnd::Finished) {
    warn(fmt::format("{} of {} tasks got no trial: --trials counts over all of them", untried,
                     tasks.size()));
  }
  for (const tune::TaskProgress& task : tasks) {
    if (task.trials > 0 && !task.best_nanoseconds && !task.best_instructions) {
      warn(fmt::format("{}: none of its {} trials was measured to its end", task.title,
                       task.trials));
    }
  }
  if (summary.certainty.poor()) {
    warn(fmt::format(
        "half of the times are known to no better than ±{:.1f} %, and programs nearer to each "
        "other "
        "than that hardly told apart: something else uses the device, another program or a "
        "neighbour of a virtual machine, or --repeat and --timeout allow too few samples",
        100 * summary.certainty.half_interval()));
  }
  if (summary.end == tune::SessionEnd::Interrupted) {
    if (stored)
      note("interrupted; everything measured is in " + records::shown_database(command.db) +
           "; --resume goes on");
    return kInterrupted;
  }
  return kFine;
}

}  // namespace fettle::app
