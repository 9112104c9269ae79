// Training the shipped prior (prior_bench.h).
#include "tests/bench/prior_bench.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "host/backend/backend.h"
#include "host/cost/prior.h"
#include "host/cost/time_model.h"
#include "host/model/task_list.h"
#include "host/records/database.h"
#include "host/replay/recording.h"
#include "host/space/cpu_target.h"
#include "host/space/workload.h"
#include "tests/bench/rank_correlation.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;
using Tasks = std::map<std::string, std::vector<cost::Sample>>;

constexpr std::size_t kFirst = 8;  // programs that a search would try first

// Workloads that a prior is judged on, or will be.
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

// One trial as a lesson; nothing when its task, space or sketch is not to be had.
class Lessons {
 public:
  explicit Lessons(std::set<std::string> left_out) : left_out_(std::move(left_out)) {}

  void add(const records::TuningRecord& record) {
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
    tasks_[record.workload].push_back({std::move(*features),
                                       measurement->median / measurement->ticks_per_second * 1e9,
                                       measurement->censored});
    cpus_.insert(task.cpu);
    names_ = task.feature_names;
  }

  const Tasks& tasks() const { return tasks_; }
  const std::set<std::string>& cpus() const { return cpus_; }
  const std::vector<std::string>& feature_names() const { return names_; }

 private:
  struct Task {
    std::unique_ptr<const backend::Task> opened;
    std::string cpu;
    std::vector<std::string> feature_names;
  };

  Task& task_of(const records::TuningRecord& record) {
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

  std::set<std::string> left_out_, cpus_;
  std::map<std::pair<std::string, std::string>, Task> known_;
  std::vector<std::string> names_;
  Tasks tasks_;
};

// What trying the programs first that look fastest would give.
Json judged(const std::vector<double>& expected, const std::vector<double>& times) {
  std::vector<std::size_t> order(times.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return expected[a] < expected[b]; });
  double best = 0, first = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double time = times[order[i]];
    if (best == 0 || time < best) best = time;
    if (i + 1 == std::min(kFirst, order.size())) first = best;
  }
  return {{"rank_correlation", rank_correlation(expected, times)},
          {"share_of_first_" + std::to_string(kFirst), first > 0 ? best / first : 0}};
}

Json judge(const cost::Prior& prior, std::size_t estimate, const std::string& title,
           const std::vector<cost::Sample>& samples) {
  std::vector<double> times, textbook, corrected;
  for (const cost::Sample& sample : samples) {
    if (sample.nanoseconds <= 0 || sample.features.empty()) continue;
    std::vector<float> features = sample.features;
    textbook.push_back(features[estimate]);
    prior.correct(features);
    corrected.push_back(features[estimate]);
    times.push_back(sample.nanoseconds);
  }
  return {{"benchmark", "prior"},
          {"task", title},
          {"programs", times.size()},
          {"estimate", judged(textbook, times)},
          {"prior", judged(corrected, times)}};
}

void tell(const Json& line, bool json) {
  if (json) {
    std::cout << line.dump() << std::endl;
    return;
  }
  const std::string first = "share_of_first_" + std::to_string(kFirst);
  std::printf("%-62s %5zu programs  rank: %6.3f with the prior %6.3f  first %zu: %.3f, %.3f\n",
              line["task"].get<std::string>().c_str(), line["programs"].get<std::size_t>(),
              line["estimate"]["rank_correlation"].get<double>(),
              line["prior"]["rank_correlation"].get<double>(), kFirst,
              line["estimate"][first].get<double>(), line["prior"][first].get<double>());
}

// Each task by a prior of all others: as a task that it has not seen.
Result<void> judge_held_back(const Lessons& lessons, std::size_t estimate, bool json) {
  for (const auto& [held, samples] : lessons.tasks()) {
    Tasks others = lessons.tasks();
    others.erase(held);
    auto prior = cost::Prior::train(lessons.feature_names(), others, "");
    if (!prior) return std::move(prior).error();
    tell(judge(*prior, estimate, "held back: " + space::Workload::parse(held)->title(), samples),
         json);
  }
  return {};
}

Result<void> judge_recordings(const cost::Prior& prior, std::size_t estimate,
                              const std::vector<replay::Recording>& recordings,
                              const std::vector<std::string>& names, bool json) {
  for (const replay::Recording& recording : recordings) {
    if (recording.feature_names != names) continue;  // of another time
    std::vector<cost::Sample> samples;
    for (const replay::RecordedTrial& trial : recording.trials) {
      samples.push_back({trial.features, trial.nanoseconds, false});
    }
    tell(judge(prior, estimate, recording.workload.title(), samples), json);
  }
  return {};
}

}  // namespace

Result<void> run_prior_bench(const PriorBenchOptions& options) {
  std::vector<replay::Recording> recordings;
  for (const std::string& path : options.recordings) {
    auto recording = replay::read_recording(path);
    if (!recording) return std::move(recording).error();
    recordings.push_back(std::move(*recording));
  }
  auto out = left_out(recordings);
  if (!out) return std::move(out).error();
  Lessons lessons(std::move(*out));
  for (const std::string& path : options.databases) {
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
  std::size_t trials = 0;
  for (const auto& [task, samples] : lessons.tasks()) trials += samples.size();
  std::string origin = std::to_string(trials) + " trials of " +
                       std::to_string(lessons.tasks().size()) + " float32 tasks on";
  for (const std::string& cpu : lessons.cpus()) origin += " " + cpu;
  auto prior = cost::Prior::train(lessons.feature_names(), lessons.tasks(), origin);
  if (!prior) return std::move(prior).error();
  std::fprintf(stderr, "%s\n", origin.c_str());
  const std::size_t estimate = *cost::estimate_among(lessons.feature_names());
  if (auto done = judge_held_back(lessons, estimate, options.json); !done) return done;
  if (auto done =
          judge_recordings(*prior, estimate, recordings, lessons.feature_names(), options.json);
      !done) {
    return done;
  }
  if (options.output.empty()) return {};
  const auto text = prior->text();
  if (!text) return text.error();
  std::ofstream file(options.output, std::ios::binary);
  file << *text;
  file.close();
  if (!file) return Error{ErrorCode::Io, "cannot write " + options.output, {}};
  return {};
}

}  // namespace fettle::bench
