// Trials as lessons (lessons.h).
#include "tests/bench/lessons.h"

#include "host/model/task_list.h"
#include "host/records/database.h"
#include "host/space/cpu_target.h"
#include "host/space/workload.h"

namespace fettle::bench {
namespace {

Result<std::set<std::string>> left_out(const std::vector<replay::Recording>& recordings) {
  std::set<std::string> workloads;
  for (const std::string& name : model::network_names()) {
    auto list = model::load_network(name);
    if (!list) return std::move(list).error();
    for (const space::Task& task : list->tasks) workloads.insert(task.workload.canonical());
  }
  for (const replay::Recording& recording : recordings) {
    workloads.insert(recording.workload.canonical());
  }
  return workloads;
}

}  // namespace

std::string task_key(const std::string& workload, const std::string& machine) {
  return workload + "\n" + machine;
}
std::string workload_of_key(const std::string& key) { return key.substr(0, key.find('\n')); }

void Lessons::add(const records::TuningRecord& record) {
  const wire::MeasurementT* measurement = record.measurement();
  if (record.reused || !measurement || measurement->clock == wire::ClockDomain::Instructions ||
      measurement->ticks_per_second <= 0 || left_out_.contains(record.workload)) {
    return;
  }
  const Task& task = task_of(record);
  if (!task.opened) return;
  const auto configuration = task.opened->space().parse(record.configuration);
  if (!configuration) return;
  auto features = task.opened->features(*configuration);
  if (!features) return;
  tasks_[task_key(record.workload, record.target)].push_back(
      {std::move(*features), measurement->median / measurement->ticks_per_second * 1e9,
       measurement->censored});
  cpus_.insert(task.cpu);
  names_ = task.feature_names;
}

Lessons::Task& Lessons::task_of(const records::TuningRecord& record) {
  const auto [place, fresh] = known_.try_emplace({record.workload, record.target});
  Task& task = place->second;
  if (!fresh) return task;
  auto workload = space::Workload::parse(record.workload);
  auto target = space::Target::parse(record.target);
  if (!workload || !target || workload->scalar() != ir::Scalar::Float32) return task;
  const backend::Backend* backend = backend::find_backend(target->backend());
  if (!backend) return task;
  auto opened = backend->open(workload->dag(), *target);
  if (!opened) return task;
  const auto cpu = space::CpuTarget::parse(*target);
  task = {std::move(*opened), cpu ? cpu->arch + " " + cpu->cpu : target->backend(),
          backend->feature_names()};
  return task;
}

Result<Lessons> read_lessons(const std::vector<std::string>& databases,
                             const std::vector<replay::Recording>& recordings) {
  auto out = left_out(recordings);
  if (!out) return std::move(out).error();
  Lessons lessons(std::move(*out));
  for (const std::string& path : databases) {
    records::OpenOptions how;
    how.read_only = true;
    how.create = false;
    auto database = records::Database::open(path, how);
    if (!database) return std::move(database).error();
    auto read = database->for_each({}, [&](const records::TuningRecord& record) {
      lessons.add(record);
      return true;
    });
    if (!read) return std::move(read).error();
  }
  return lessons;
}

}  // namespace fettle::bench
