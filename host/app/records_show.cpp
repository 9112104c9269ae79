// fettle records show (records_show.h).
#include "host/app/records_show.h"

#include <iostream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "host/app/json_view.h"
#include "host/records/queries.h"
#include "host/records/record_json.h"
#include "host/records/report.h"
#include "host/records/table.h"
#include "schemas/wire/printable.h"

namespace fettle::app {
namespace {

// An object as the lines of an export have it, which is no line to import.
nlohmann::json told(nlohmann::json line) {
  line.erase("fettle");
  return line;
}

std::string title_of(const records::TaskSummary& task) {
  return task.title.empty() ? task.workload_hash : task.title;
}

nlohmann::json task_json(const records::TaskSummary& task) {
  nlohmann::json object = {{"kind", "task"},
                           {"source", records::json_or_text(task.source)},
                           {"title", title_of(task)},
                           {"workload", records::json_or_text(task.workload)},
                           {"target", records::json_or_text(task.target)},
                           {"device_key", task.device_key},
                           {"trials", task.trials},
                           {"failed", task.failed}};
  if (task.best_nanoseconds) {
    object["best_ns"] = *task.best_nanoseconds;
    object["emulated"] = task.best_emulated;
    object["record"] = task.best_id;
  }
  return object;
}

void show_sessions(const std::vector<records::Session>& sessions, bool json) {
  records::Table table({{"session"}, {"name"}, {"device"}, {"started"}, {"state"}, {"reason"}});
  for (const records::Session& session : sessions) {
    if (json) print_json_line(told(records::to_json(session)));
    table.row({session.session, session.name, session.device_key,
               records::time_text(session.started_ms), records::name_of(session.state),
               session.reason});
  }
  if (json) return;
  table.print(std::cout);
  std::cout << "\n";
}

void show_tasks(const std::vector<records::TaskSummary>& tasks, bool json) {
  records::Table table({{"task"},
                        {"device"},
                        {"trials", records::Align::Right},
                        {"failed", records::Align::Right},
                        {"best", records::Align::Right},
                        {"record", records::Align::Right}});
  for (const records::TaskSummary& task : tasks) {
    if (json) print_json_line(task_json(task));
    table.row({title_of(task), task.device_key, std::to_string(task.trials),
               std::to_string(task.failed),
               task.best_nanoseconds ? records::duration_text(*task.best_nanoseconds) +
                                           (task.best_emulated ? " (emulated)" : "")
                                     : "-",
               task.best_id ? std::to_string(task.best_id) : "-"});
  }
  if (!json) table.print(std::cout);
}

}  // namespace

Result<void> show_record(const records::Database& database, std::int64_t id, bool json) {
  const auto record = database.get(id);
  if (!record) return record.error();
  if (!json) {
    std::ostringstream text;
    records::show(*record, text);
    std::cout << printable(text.str());
    return {};
  }
  nlohmann::json object = told(records::to_json(*record));
  object["record"] = record->id;
  object["emulated"] = record->emulated;
  print_json_line(object);
  return {};
}

Result<void> show_overview(const records::Database& database, const records::Filter& filter,
                           bool json) {
  auto sessions = database.sessions();
  if (!sessions) return sessions.error();
  const auto tasks = records::summaries(database, filter);
  if (!tasks) return tasks.error();
  const auto counts = records::count(database, filter);
  if (!counts) return counts.error();
  std::erase_if(*sessions, [&](const records::Session& session) {
    return (!filter.session.empty() && session.session != filter.session) ||
           (!filter.device_key.empty() && session.device_key != filter.device_key);
  });
  show_sessions(*sessions, json);
  show_tasks(*tasks, json);
  for (const records::Cause& cause : counts->causes) {
    if (json) {
      print_json_line({{"kind", "failures"},
                       {"count", cause.count},
                       {"stage", cause.stage},
                       {"code", cause.code},
                       {"example", cause.example}});
      continue;
    }
    std::cout << "failed " << cause.count << "×: " << cause.stage << " " << cause.code << ": "
              << printable(cause.example) << "\n";
  }
  return {};
}

}  // namespace fettle::app
