// Build workers as tasks of Slurm's job arrays, by sbatch, squeue and scancel. What belongs to a
// farm is told by the name of its jobs, so that nothing has to be remembered.
#pragma once

#include <string>
#include <vector>

#include "host/farm/farm_plan.h"
#include "host/farm/worker_command.h"
#include "schemas/wire/result.h"

namespace fettle::farm {

struct SlurmJobs {
  std::string name;  // of all jobs of this farm, and of no others of this user
  std::string partition;
  WorkerCommand worker;
  std::string log_folder;            // "": no logs
  std::vector<std::string> options;  // more of sbatch's
};

struct SlurmTask {
  Worker worker;       // its id is JOB_TASK
  std::string reason;  // Slurm's, why it does not run
};

class Slurm {
 public:
  // NotFound: Slurm's commands are not on the PATH.
  static Result<Slurm> open(SlurmJobs jobs);

  // sbatch's own check of such a job; InvalidArgument with its words (an unknown partition).
  Result<void> check() const;
  // Tasks that wait or run, of this user and that name, oldest first. Io: Slurm does not answer.
  Result<std::vector<SlurmTask>> tasks() const;
  // One job array. Returns its tasks' ids. Io: sbatch refused, in its words.
  Result<std::vector<std::string>> submit(unsigned workers) const;
  // Those that have ended meanwhile are no error.
  Result<void> cancel(const std::vector<std::string>& ids) const;

  std::vector<std::string> submit_words(unsigned workers) const;  // sbatch …

 private:
  explicit Slurm(SlurmJobs jobs) : jobs_(std::move(jobs)) {}
  const SlurmJobs jobs_;
};

// squeue's lines "ID|STATE|REASON" without what is ending.
Result<std::vector<SlurmTask>> parse_tasks(const std::string& text);
// What `sbatch --parsable` printed, "17" or "17;cluster", as the ids of its tasks.
Result<std::vector<std::string>> parse_submitted(const std::string& text, unsigned workers);

}  // namespace fettle::farm
