// A Slurm of a test's own: munged, slurmctld and slurmd of one node, as plain processes at free
// ports of the loopback, with their files in a scratch folder. Gone with the object, and its jobs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/running_program.h"

namespace fettle::testing {

class SlurmCluster {
 public:
  // Why there can be none here; "": there can.
  static std::string why_none();

  // `cpus`: that the node has, as far as Slurm knows. Its partition is "build".
  explicit SlurmCluster(unsigned cpus = 4);
  ~SlurmCluster();
  SlurmCluster(const SlurmCluster&) = delete;

  // What Slurm's commands need.
  std::map<std::string, std::string> environment() const;
  ProgramResult run(const std::vector<std::string>& words) const;
  // States of the jobs of that name, a word for each task.
  std::vector<std::string> states(const std::string& job_name) const;

  void kill_node();   // slurmd, by SIGKILL: what it started goes on
  void start_node();  // waits until the node may be used

 private:
  using Program = std::unique_ptr<RunningProgram>;
  Program daemon(const std::string& name, std::vector<std::string> options) const;
  std::string logs() const;
  void start_munge();
  void start_controller();

  ScratchFolder folder_;
  Program munge_, controller_, node_;
};

}  // namespace fettle::testing
