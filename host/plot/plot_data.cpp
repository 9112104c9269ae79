// Collecting what is plotted (plot_data.h), in one pass over the trials.
#include "host/plot/plot_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "host/plot/prediction.h"
#include "host/records/queries.h"
#include "host/records/report.h"

namespace fettle::plot {
namespace {

using Json = nlohmann::json;

// Points of one task that a browser still draws at once.
constexpr std::size_t kMostPoints = 2000;

constexpr std::array<const char*, 8> kStages = {"build",   "queue", "upload", "load",
                                                "warm-up", "check", "run",    "other"};

struct Point {
  std::int64_t place;
  double gflops;
};

struct TaskPlot {
  std::string title, device, workload, target;
  double operations = 0;  // of the workload
  std::int64_t trials = 0, failed = 0;
  std::vector<Point> measured, best;
  std::vector<MeasuredTrial> for_model;
  std::array<double, kStages.size()> seconds{};
};

void add_times(TaskPlot& task, const records::TuningRecord& record) {
  task.seconds[0] += static_cast<double>(record.build_ns) * 1e-9;
  const wire::StageTimesT* times = record.outcome.times.get();
  if (times == nullptr || record.reused) return;
  const std::array<std::uint64_t, 6> parts = {times->queue_ns,  times->upload_ns, times->load_ns,
                                              times->warmup_ns, times->check_ns,  times->run_ns};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    task.seconds[i + 1] += static_cast<double>(parts[i]) * 1e-9;
  }
  // The board's own parts lie within its total; warm-up may lie within load.
  const std::uint64_t named = times->load_ns + times->warmup_ns + times->check_ns + times->run_ns;
  if (times->total_ns > named) {
    task.seconds.back() += static_cast<double>(times->total_ns - named) * 1e-9;
  }
}

void add(TaskPlot& task, const records::TuningRecord& record) {
  const std::int64_t place = ++task.trials;
  if (record.failure() != nullptr) ++task.failed;
  add_times(task, record);
  const auto nanoseconds = record.nanoseconds();
  if (!nanoseconds || *nanoseconds <= 0) return;
  const double gflops = record.operations / *nanoseconds;
  if (!std::isfinite(gflops)) return;  // JSON has no such number
  task.measured.push_back({place, gflops});
  if (task.best.empty() || gflops > task.best.back().gflops) task.best.push_back({place, gflops});
  task.for_model.push_back({record.configuration, *nanoseconds});
}

Json points_json(const std::vector<Point>& points, std::size_t step) {
  Json all = Json::array();
  for (std::size_t i = 0; i < points.size(); i += step) {
    all.push_back({points[i].place, points[i].gflops});
  }
  return all;
}

// Null when there is nothing to say.
Json prediction_json(const TaskPlot& task) {
  const auto prediction = predict_held_back(task.workload, task.target, task.for_model);
  if (!prediction) return nullptr;
  Json points = Json::array();
  for (const HeldBackTrial& trial : prediction->held_back) {
    const double predicted = task.operations / trial.predicted;
    const double measured = task.operations / trial.measured;
    if (!std::isfinite(predicted) || !std::isfinite(measured)) continue;
    points.push_back({predicted, measured});
  }
  return {{"points", std::move(points)}, {"rank_correlation", prediction->rank_correlation}};
}

Json to_json(TaskPlot& task, std::size_t& shown) {
  const std::size_t step = (task.measured.size() + kMostPoints - 1) / kMostPoints;
  Json object = {{"title", task.title},
                 {"device", task.device},
                 {"trials", task.trials},
                 {"measured", task.measured.size()},
                 {"failed", task.failed},
                 {"trial", points_json(task.measured, std::max<std::size_t>(step, 1))},
                 {"seconds", task.seconds},
                 {"prediction", prediction_json(task)}};
  shown += object["trial"].size();
  if (!task.best.empty()) task.best.push_back({task.trials, task.best.back().gflops});
  object["best"] = points_json(task.best, 1);
  return object;
}

}  // namespace

Result<Json> plot_data(const records::Database& database, const records::Filter& filter) {
  std::vector<TaskPlot> tasks;
  std::map<std::tuple<std::string, std::string, std::string, bool>, std::size_t> place_of;
  std::int64_t trials = 0;
  auto read = database.for_each(filter, [&](const records::TuningRecord& record) {
    ++trials;
    // Emulated time is not a board's: tasks of an emulated board of the same key stay apart.
    const auto [at, added] = place_of.try_emplace(
        {record.workload, record.target, record.device_key, record.emulated}, tasks.size());
    if (added) {
      TaskPlot& task = tasks.emplace_back();
      task.title = record.title.empty() ? record.workload_hash : record.title;
      task.device = records::device_text(record);
      task.workload = record.workload;
      task.target = record.target;
      task.operations = record.operations;
    }
    add(tasks[at->second], record);
    return true;
  });
  if (!read) return std::move(read).error();
  const auto counts = records::count(database, filter);
  if (!counts) return counts.error();

  std::size_t shown = 0, measured = 0;
  Json data = {{"stages", kStages}, {"trials", trials}};
  data["tasks"] = Json::array();
  for (TaskPlot& task : tasks) {
    measured += task.measured.size();
    data["tasks"].push_back(to_json(task, shown));
  }
  data["measured"] = measured;
  data["shown"] = shown;
  data["causes"] = Json::array();
  for (const records::Cause& cause : counts->causes) {
    data["causes"].push_back({{"stage", cause.stage},
                              {"code", cause.code},
                              {"count", cause.count},
                              {"example", cause.example}});
  }
  return data;
}

}  // namespace fettle::plot
