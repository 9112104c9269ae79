// Transfer (transfer.h).
#include "host/app/transfer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "host/cost/prior.h"
#include "host/space/workload.h"

namespace fettle::app {
namespace {

constexpr std::size_t kMostLessons = 1200;
constexpr std::size_t kFewestEach = 8;  // of a workload: fewer say little of what makes one fast

bool teaches(const std::string& recorded, const space::Target& target) {
  const auto other = space::Target::parse(recorded);
  if (!other || other->backend() != target.backend()) return false;
  return backend::find_backend(target.backend())->teaches(*other, target);
}

// What was measured of one workload.
struct Subject {
  double distance = 0;  // from the session's tasks
  std::vector<Lesson> trials;
};

double logarithm(double operations) { return std::log2(std::max(1.0, operations)); }

// 0: it is one of them; then those of a kind that one of them is of, by the ratio of their
// operations to that one's; then the others, alike.
double distance_from(const std::vector<space::Task>& tasks, const records::TuningRecord& record) {
  constexpr double kOtherKind = 100;  // beyond any ratio's logarithm
  const auto source = nlohmann::json::parse(record.source, nullptr, false);
  const bool is_call = source.is_object() && source.contains("op") && source["op"].is_string();
  const std::string kind = is_call ? source["op"].get<std::string>() : "dag";
  double nearest = std::numeric_limits<double>::infinity();
  for (const space::Task& task : tasks) {
    if (task.workload.canonical() == record.workload) return 0;
    const double ratio =
        std::abs(logarithm(record.operations) - logarithm(task.workload.operations()));
    nearest = std::min(nearest, 1 + ratio + (task.workload.kind() == kind ? 0 : kOtherKind));
  }
  return nearest;
}

}  // namespace

Result<std::vector<Lesson>> earlier_lessons(const records::Database& database,
                                            const wire::DeviceInfoT& device,
                                            const space::Target& target,
                                            const std::vector<space::Task>& tasks, bool resumed,
                                            bool cold_weights) {
  std::set<std::string> own;
  for (const space::Task& task : tasks) own.insert(task.workload.canonical());
  records::Filter filter;
  filter.emulated = device.emulated;
  filter.clock = device.clock;
  filter.cold_weights = cold_weights;
  const std::string same_target = target.canonical();
  std::map<std::string, bool> kinds;  // by the record's target
  std::map<std::string, Subject> by_workload;
  auto read = database.for_each(filter, [&](const records::TuningRecord& record) {
    const auto [kind, fresh] = kinds.emplace(record.target, false);
    if (fresh) kind->second = teaches(record.target, target);
    if (!kind->second || record.reused) return true;
    const bool is_own = own.contains(record.workload);
    if (is_own && (!resumed || record.target != same_target || record.device_key != device.key)) {
      return true;
    }
    // Why a trial failed may have been the machine's matter: failures teach nothing.
    const wire::MeasurementT* measurement = record.measurement();
    if (!measurement || measurement->ticks_per_second <= 0) return true;
    Lesson lesson{record.workload, record.configuration,
                  is_own ? record.workload : "earlier " + record.workload, 0,
                  measurement->censored};
    lesson.nanoseconds = measurement->median / measurement->ticks_per_second * 1e9;
    const auto [subject, first] = by_workload.emplace(record.workload, Subject{});
    if (first) subject->second.distance = distance_from(tasks, record);
    subject->second.trials.push_back(std::move(lesson));
    return true;
  });
  if (!read) return read.error();
  std::vector<Subject*> nearest_first;
  for (auto& [workload, subject] : by_workload) nearest_first.push_back(&subject);
  std::stable_sort(nearest_first.begin(), nearest_first.end(),
                   [](const Subject* a, const Subject* b) { return a->distance < b->distance; });
  std::vector<Lesson> lessons;
  const std::size_t each =
      std::max(kFewestEach, kMostLessons / std::max<std::size_t>(1, by_workload.size()));
  for (Subject* subject : nearest_first) {
    auto& trials = subject->trials;
    const std::size_t count = std::min({trials.size(), each, kMostLessons - lessons.size()});
    lessons.insert(lessons.end(), trials.end() - static_cast<std::ptrdiff_t>(count), trials.end());
  }
  return lessons;
}

void learn_lessons(const std::vector<Lesson>& lessons, const backend::Backend& backend,
                   const space::Target& target, bool with_prior, cost::Experience& experience) {
  std::unique_ptr<const backend::Task> task;
  std::optional<space::Workload> workload;
  std::shared_ptr<const cost::Prior> prior;
  const std::vector<std::string> names = backend.feature_names();
  for (const Lesson& lesson : lessons) {
    if (!workload || workload->canonical() != lesson.workload) {
      task.reset();
      auto parsed = space::Workload::parse(lesson.workload);
      if (!parsed) continue;
      workload = std::move(*parsed);
      if (workload->kernel()) continue;  // its knobs mean nothing to another task
      prior = with_prior ? cost::shipped_prior(*workload, target, names) : nullptr;
      if (auto opened = backend.open(workload->dag(), target)) task = std::move(*opened);
    }
    if (!task) continue;
    // A configuration that the sketches no longer have teaches nothing.
    const auto configuration = task->space().parse(lesson.configuration);
    if (!configuration) continue;
    if (auto features = task->features(*configuration)) {
      if (prior) prior->correct(*features);
      // As a session's own: the time of a stopped trial counts.
      experience.add(lesson.task, {std::move(*features), lesson.nanoseconds, false});
    }
  }
}

}  // namespace fettle::app
