// JSON lines (json_view.h).
#include "host/app/json_view.h"

#include <cstdio>

#include "host/app/interrupt.h"
#include "host/app/output_file.h"
#include "host/app/text.h"
#include "host/app/views.h"
#include "host/records/json_fields.h"
#include "schemas/wire/printable.h"

namespace fettle::app {
namespace {

using nlohmann::json;

json optional_number(const std::optional<double>& value) {
  return value ? json(*value) : json(nullptr);
}

const char* end_name(tune::TaskEnd end) {
  switch (end) {
    case tune::TaskEnd::StoppedEarly:
      return "stopped_early";
    case tune::TaskEnd::Exhausted:
      return "exhausted";
    case tune::TaskEnd::None:
      break;
  }
  return "open";
}

const char* end_name(tune::SessionEnd end) {
  switch (end) {
    case tune::SessionEnd::Finished:
      return "finished";
    case tune::SessionEnd::Interrupted:
      return "interrupted";
    case tune::SessionEnd::Failed:
      break;
  }
  return "failed";
}

class JsonView final : public tune::TuneListener {
 public:
  explicit JsonView(const RecordStore* store) : store_(store) {}
  // Called once the record is stored, before the next one is.
  void trial_done(std::size_t task, const records::TuningRecord& record,
                  const tune::Progress& progress) override {
    json object = trial_json(task, record, progress);
    if (store_) object["record"] = store_->last();
    print_json_line(object);
    if (reader_is_gone()) Interrupt::request();
  }
  void confirmed(std::size_t task, std::span<const records::Confirmation> confirmations,
                 const tune::Progress& progress) override {
    print_json_line(finals_json(task, confirmations, progress));
  }
  void tick(const tune::Progress&) override {}
  void warn(const std::string& line) override { app::warn(line); }

 private:
  const RecordStore* const store_;
};

}  // namespace

json trial_json(std::size_t task, const records::TuningRecord& record,
                const tune::Progress& progress) {
  json object = {{"event", "trial"},
                 {"trial", progress.trials},
                 {"trials_wanted", progress.trials_wanted},
                 {"task", task},
                 {"title", progress.tasks[task].title},
                 {"configuration", records::json_or_text(record.configuration)},
                 {"program_hash", record.program_hash},
                 {"board", record.board_id},
                 {"build_ms", static_cast<double>(record.build_ns) * 1e-6},
                 {"reused", record.reused},
                 {"best_gflops", optional_number(progress.tasks[task].best_gflops())},
                 {"elapsed_s", progress.elapsed.count()}};
  if (const wire::MeasurementT* measurement = record.measurement()) {
    const auto nanoseconds = record.nanoseconds();
    object["ns"] = optional_number(nanoseconds);
    if (nanoseconds) object["gflops"] = record.operations / *nanoseconds;
    object["censored"] = measurement->censored;
    object["samples"] = measurement->samples.size();
  } else if (const wire::FailureT* failure = record.failure()) {
    object["failure"] = {{"stage", name_of(failure->stage)}};
    if (failure->error) {
      object["failure"]["code"] = name_of(failure->error->code);
      object["failure"]["message"] = from_wire(*failure->error).text();
    }
  }
  return object;
}

json finals_json(std::size_t task, std::span<const records::Confirmation> confirmations,
                 const tune::Progress& progress) {
  json object = {{"event", "finals"},
                 {"task", task},
                 {"title", progress.tasks[task].title},
                 {"best_gflops", optional_number(progress.tasks[task].best_gflops())},
                 {"elapsed_s", progress.elapsed.count()},
                 {"programs", json::array()}};
  for (const records::Confirmation& one : confirmations) {
    object["programs"].push_back({{"session", one.session},
                                  {"program_hash", one.program_hash},
                                  {"configuration", records::json_or_text(one.configuration)},
                                  {"ns", one.nanoseconds}});
  }
  return object;
}

json summary_json(const tune::TuneSummary& summary) {
  const tune::Progress& progress = summary.progress;
  json object = {{"event", "summary"},
                 {"end", end_name(summary.end)},
                 {"trials", progress.trials},
                 {"trials_wanted", progress.trials_wanted},
                 {"resumed", progress.resumed},
                 {"retried", progress.retried},
                 {"elapsed_s", progress.elapsed.count()},
                 {"finals", progress.finals},
                 {"finals_s", progress.finals_elapsed.count()},
                 {"peak_gflops", progress.peak_gflops},
                 {"busy_share", optional_number(progress.busy_share)},
                 {"supply_limited_share", progress.supply_limited_share},
                 {"failures", progress.failures},
                 {"all_failed", summary.all_failed},
                 {"tasks", json::array()}};
  object["sum_ns"] = optional_number(progress.sum_nanoseconds());
  const tune::SearchStatistics& search = summary.search;
  object["search"] = {{"plans", search.plans},
                      {"lowered", search.lowered},
                      {"unlowered", search.unlowered},
                      {"screened", search.screened},
                      {"feature_seconds", search.feature_seconds},
                      {"training_seconds", search.training_seconds},
                      {"planning_seconds", search.planning_seconds},
                      {"thought", search.mean_thought()}};
  const tune::TimeSplit& time = summary.time;
  object["trials_per_hour"] = progress.trials_per_hour();
  object["build_ms_median"] = time.build_ms(0.5);
  object["build_ms_p90"] = time.build_ms(0.9);
  // Stages overlap; the device's are those of all boards together.
  object["stage_seconds"] = {
      {"search", search_seconds(search)}, {"features", search.feature_seconds},
      {"model", search.training_seconds}, {"build", time.build_seconds()},
      {"upload", time.upload_seconds()},  {"load", time.device().load},
      {"warmup", time.device().warmup},   {"run", time.device().run},
      {"check", time.device().check},     {"other", time.device().other},
      {"idle", time.device().idle}};
  object["certainty"] = {{"trials", summary.certainty.trials()},
                         {"half_interval", summary.certainty.half_interval()},
                         {"disturbed_share", summary.certainty.disturbed_share()}};
  if (summary.error) object["error"] = summary.error->text();
  if (!summary.main_cause.empty()) object["main_cause"] = summary.main_cause;
  for (const tune::TaskProgress& task : progress.tasks) {
    const auto gflops = task.best_gflops();
    object["tasks"].push_back(
        {{"title", task.title},
         {"weight", task.weight},
         {"trials", task.trials},
         {"failed", task.failed},
         {"reused", task.reused},
         {"end", end_name(task.end)},
         {"best_ns", optional_number(task.best_nanoseconds)},
         {"best_instructions", optional_number(task.best_instructions)},
         {"best_gflops", optional_number(gflops)},
         {"share_of_peak", gflops && progress.peak_gflops > 0 ? json(*gflops / progress.peak_gflops)
                                                              : json(nullptr)}});
  }
  return object;
}

void print_json_line(const json& object) {
  const std::string text = printable(records::dump_json(object)) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

std::unique_ptr<tune::TuneListener> make_json_view(const RecordStore* store) {
  return std::make_unique<JsonView>(store);
}

}  // namespace fettle::app
