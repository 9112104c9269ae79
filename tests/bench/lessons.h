// Lessons: the trials of databases that a model of times can learn from, with their features.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/backend/backend.h"
#include "host/cost/experience.h"
#include "host/records/record.h"
#include "host/replay/recording.h"
#include "schemas/wire/result.h"

namespace fettle::bench {

// By workload, and behind a line's end the machine that the times are of.
using Tasks = std::map<std::string, std::vector<cost::Sample>>;
std::string task_key(const std::string& workload, const std::string& machine);
std::string workload_of_key(const std::string& key);

// Of float32 tasks; a trial whose task, space or sketch is not to be had is none.
class Lessons {
 public:
  // `left_out`: workloads that nothing is learned of.
  explicit Lessons(std::set<std::string> left_out) : left_out_(std::move(left_out)) {}

  void add(const records::TuningRecord& record);

  const Tasks& tasks() const { return tasks_; }
  const std::set<std::string>& cpus() const { return cpus_; }
  const std::vector<std::string>& feature_names() const { return names_; }

 private:
  struct Task {
    std::unique_ptr<const backend::Task> opened;
    std::string cpu;
    std::vector<std::string> feature_names;
  };
  Task& task_of(const records::TuningRecord& record);

  std::set<std::string> left_out_, cpus_;
  std::map<std::pair<std::string, std::string>, Task> known_;
  std::vector<std::string> names_;
  Tasks tasks_;
};

// Of all these databases, but for workloads that are judged on, or will be: those of the networks
// that fettle knows, and of `recordings`.
Result<Lessons> read_lessons(const std::vector<std::string>& databases,
                             const std::vector<replay::Recording>& recordings);

}  // namespace fettle::bench
