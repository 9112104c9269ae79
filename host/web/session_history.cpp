// SessionHistory (session_history.h).
#include "host/web/session_history.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace fettle::web {
namespace {

constexpr double kStep = 10;  // seconds

std::int64_t step_of(double seconds) { return static_cast<std::int64_t>(seconds / kStep); }

// Enough for a chart, and short on the way there.
double rounded(double value) {
  if (!(value > 0)) return 0;
  const double unit = std::pow(10, std::floor(std::log10(value)) - 4);
  return std::round(value / unit) * unit;
}

// An even choice of `most` points, the first and the last among them.
nlohmann::json curve_json(const BestCurve& curve, std::size_t most) {
  nlohmann::json out = nlohmann::json::array();
  const auto& points = curve.points();
  const std::size_t count = std::min(points.size(), std::max<std::size_t>(most, 2));
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [x, y] = points[count < 2 ? 0 : i * (points.size() - 1) / (count - 1)];
    out.push_back(nlohmann::json::array({std::round(x * 10) / 10, rounded(y)}));
  }
  return out;
}

}  // namespace

SessionHistory::Task* SessionHistory::task(std::uint64_t number) {
  const auto found = tasks_.find(number);
  if (found != tasks_.end()) return &found->second;
  if (tasks_.size() >= kTasks) return nullptr;
  Task& made = tasks_[number];
  made.place = tasks_.size() - 1;
  return &made;
}

void SessionHistory::name(std::uint64_t number, std::string title, double operations) {
  if (Task* named = task(number)) {
    named->title = std::move(title);
    named->operations = operations;
  }
}

void SessionHistory::go_on(std::uint64_t number, double value, const char* unit) {
  if (Task* of = task(number)) {
    of->unit = unit;
    of->curve.add(0, value);
  }
}

void SessionHistory::add(const Trial& trial, double seconds) {
  const bool failed = !trial.cause.empty();
  ++trials_;
  Step& step = steps_[static_cast<std::size_t>(step_of(seconds)) % steps_.size()];
  if (step.number != step_of(seconds)) step = {step_of(seconds), 0};
  ++step.trials;
  if (failed) {
    ++failed_;
    const auto known = causes_.find(trial.cause);
    if (known != causes_.end() || causes_.size() < kCauses) {
      Cause& cause = causes_[trial.cause];
      ++cause.count;
      cause.message = trial.message;
    }
  }
  Task* of = task(trial.task);
  if (of == nullptr) return;
  ++of->trials;
  if (failed) ++of->failed;
  if (trial.value) {
    of->unit = trial.unit;
    of->curve.add(seconds, *trial.value);
  }
}

double SessionHistory::per_hour(double seconds) const {
  const std::int64_t last = step_of(seconds), first = std::max<std::int64_t>(last - 6, 0);
  std::uint64_t trials = 0;
  for (const Step& step : steps_)
    if (step.number >= first) trials += step.trials;
  const double span = seconds - static_cast<double>(first) * kStep;
  return span < 1 ? 0 : static_cast<double>(trials) / span * 3600;
}

void SessionHistory::write(nlohmann::json& session, double seconds, std::size_t points) const {
  session["trials"] = trials_;
  session["failed"] = failed_;
  session["per_hour"] = std::round(per_hour(seconds));
  std::vector<const Task*> in_order(tasks_.size());
  for (const auto& [number, task] : tasks_) in_order[task.place] = &task;
  nlohmann::json& tasks = session["tasks"] = nlohmann::json::array();
  for (const Task* task : in_order) {
    nlohmann::json one = {{"title", task->title},
                          {"trials", task->trials},
                          {"failed", task->failed},
                          {"unit", task->unit},
                          {"curve", curve_json(task->curve, points)}};
    if (!task->curve.empty() && task->operations > 0 && std::string(task->unit) == "ns") {
      one["gflops"] = rounded(task->operations / task->curve.best());
    }
    tasks.push_back(std::move(one));
  }
  nlohmann::json& failures = session["failures"] = nlohmann::json::array();
  std::vector<const std::pair<const std::string, Cause>*> causes;
  for (const auto& entry : causes_) causes.push_back(&entry);
  std::stable_sort(causes.begin(), causes.end(),
                   [](const auto* a, const auto* b) { return a->second.count > b->second.count; });
  for (const auto* cause : causes) {
    failures.push_back({{"cause", cause->first},
                        {"count", cause->second.count},
                        {"message", cause->second.message}});
  }
}

}  // namespace fettle::web
