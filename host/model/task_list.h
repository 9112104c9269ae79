// Task lists: the operators of a network, each with how often it occurs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/space/workload.h"
#include "schemas/wire/result.h"

namespace fettle::model {

// An entry that cannot be tuned here yet, and why.
struct SkippedTask {
  std::string title;  // its operator and place in the list
  std::string reason;
};

struct TaskList {
  std::string name;
  std::vector<space::Task> tasks;  // equal workloads are one task, their weights added
  std::vector<SkippedTask> skipped;
  std::uint64_t weights_bytes = 0;  // of the whole network; 0: not known
  std::string folder;               // of files that a kernel's reference names; else ""
};

// One more network, of a program that brings operators of its own: a list of workloads in JSON;
// before any is loaded. A name that is there already becomes this one's.
void add_network(const std::string& name, const std::string& workloads);

// A network that fettle knows by name. NotFound: names those that can be tuned.
Result<TaskList> load_network(const std::string& name);
// What was published as reached with tuning for a task of a network that fettle knows, in GOPS;
// 0: nothing.
double published_gops(const std::string& network, const space::Workload& workload);
std::vector<std::string> network_names();  // of those that have a task which can be tuned

// A user's file of the same form: a list of workloads, an object of lists by network name, of
// which all are taken, or one workload: an operator, or a compute DAG of the user's own
// (host/space/dag_text/dag_json.h). InvalidArgument names the entry and field
// that is wrong; an operator that is not there yet is skipped.
Result<TaskList> load_workload_file(const std::string& path);

}  // namespace fettle::model
