// TunePage (tune_page.h). Its JSON is what live.js draws, as of web::FleetHistory.
#include "host/app/tune_page.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "host/app/text.h"
#include "host/tune/outcomes.h"
#include "host/web/event_text.h"
#include "schemas/wire/clock_domain.h"

namespace fettle::app {
namespace {

using nlohmann::json;

json board_json(const SessionBoard& board) {
  json out = {{"id", board.id},
              {"name", board.name},
              {"model", board.model},
              {"device", board.device},
              {"index", 0},
              {"state", board.state},
              {"trials", board.trials},
              {"failed", board.failed},
              {"busy", board.busy},
              {"shares", board.shares}};
  if (board.state != "busy") out["silent_s"] = std::round(board.silent);
  if (board.temperature) out["celsius"] = *board.temperature;
  return out;
}

json numbers_of(const tune::Progress& progress) {
  json out = json::array();
  const auto add = [&](const char* name, json value) {
    out.push_back(json::array({name, std::move(value)}));
  };
  add("done", progress.trials);
  add("wanted", progress.trials_wanted);
  add("are built", progress.building);
  add("wait for a board", progress.waiting);
  add("on boards", progress.on_boards);
  add("boards busy", percent_text(progress.busy_share));
  if (const auto sum = progress.sum_nanoseconds(); sum && progress.tasks.size() > 1) {
    add("all tasks by their weights", time_text(*sum));
  }
  return out;
}

const char* note_of(const tune::TaskProgress& task) {
  if (task.end == tune::TaskEnd::StoppedEarly) return "stopped early";
  if (task.end == tune::TaskEnd::Exhausted) return "every candidate tried";
  return task.waiting_for_expected ? "computing the expected output" : "";
}

}  // namespace

TunePage::TunePage(web::LiveServer* server, SessionBoards& boards, tune::TuneListener& view,
                   std::string title)
    : server_(server), boards_(boards), view_(view), title_(std::move(title)) {}

void TunePage::trial_done(std::size_t task, const records::TuningRecord& record,
                          const tune::Progress& progress) {
  boards_.add(record);
  if (server_) {
    name_tasks(progress);
    web::SessionHistory::Trial trial;
    trial.task = task;
    if (const wire::FailureT* failure = record.failure()) {
      trial.cause = tune::cause_of(*failure);
      if (failure->error) trial.message = cut(failure->error->message, 200);
    } else if (const auto* measured = record.measurement(); measured && !measured->censored) {
      const auto time = record.nanoseconds();
      trial.value = time.value_or(measured->median);
      if (!time) trial.unit = clock_facts(measured->clock).unit;
    }
    history_.add(trial, progress.elapsed.count());
  }
  view_.trial_done(task, record, progress);
}

void TunePage::tick(const tune::Progress& progress) {
  if (server_) name_tasks(progress);
  if (server_ && server_->streams() > 0) publish(progress, false);
  view_.tick(progress);
}

void TunePage::end(const tune::Progress& progress) {
  if (server_) publish(progress, true);
}

// Before any trial, so that they keep their order.
void TunePage::name_tasks(const tune::Progress& progress) {
  if (std::exchange(named_, true)) return;
  for (std::size_t i = 0; i < progress.tasks.size(); ++i) {
    const tune::TaskProgress& task = progress.tasks[i];
    history_.name(i, task.title, task.operations);
    if (progress.resumed == 0) continue;
    if (task.best_nanoseconds) {
      history_.go_on(i, *task.best_nanoseconds, "ns");
    } else if (task.best_instructions) {
      history_.go_on(i, *task.best_instructions, "instructions");
    }
  }
}

void TunePage::publish(const tune::Progress& progress, bool ended) {
  name_tasks(progress);
  json session = {{"id", "tune"},
                  {"name", title_},
                  {"client", ""},
                  {"key", boards_.pool()},
                  {"ended", ended},
                  {"seconds", progress.elapsed.count()},
                  {"unfinished", ended ? 0 : progress.on_boards},
                  {"wanted", progress.trials_wanted}};
  if (progress.left && !ended && progress.trials < progress.trials_wanted) {
    session["left_s"] = std::round(progress.left->count());
  }
  history_.write(session, progress.elapsed.count(), web::BestCurve::kMost);
  // With those of earlier sessions, where this one resumed.
  session["trials"] = progress.trials;
  std::uint64_t failed = 0;
  for (const tune::TaskProgress& task : progress.tasks) failed += task.failed;
  session["failed"] = failed;
  if (failed > history_.failed()) {
    session["failures"].push_back(
        {{"cause", "in earlier sessions"}, {"count", failed - history_.failed()}, {"message", ""}});
  }
  for (std::size_t i = 0; i < session["tasks"].size(); ++i) {
    const tune::TaskProgress& task = progress.tasks[i];
    json& shown = session["tasks"][i];
    shown["trials"] = task.trials;
    shown["failed"] = task.failed;
    shown["note"] = note_of(task);
    if (const auto gflops = task.best_gflops()) shown["gflops"] = *gflops;
  }
  json boards = json::array();
  for (const SessionBoard& board : boards_.boards()) {
    json one = board_json(board);
    one["key"] = boards_.pool();
    boards.push_back(std::move(one));
  }
  server_->publish(web::event_text({{"kind", "tune"},
                                    {"title", title_},
                                    {"step_s", web::Recent::kStep},
                                    {"numbers", numbers_of(progress)},
                                    {"boards", std::move(boards)},
                                    {"sessions", json::array({std::move(session)})}}));
}

}  // namespace fettle::app
