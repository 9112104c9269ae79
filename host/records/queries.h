// Questions that users and the tuning loop ask of a database.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/records/database.h"

namespace fettle::records {

// The k fastest records of each task (workload, target, device key), fastest
// first; tasks in the order they were first seen. Only what may be called a
// result: measured, not censored, on a clock that is time. Failures (wrong
// answers, implausible times, …) are never in it. Real boards go before emulated
// ones of the same key, whatever their times. Of equal configurations the
// fastest stands for all, but one that was measured again beside others (confirmed_nanoseconds)
// goes by the newest such time.
Result<std::vector<TuningRecord>> best(const Database& database, const Filter& filter, int k = 1);

// The same in instructions, of devices whose clock counts them (an emulator's icount):
// such records are no times and are never in best().
Result<std::vector<TuningRecord>> fewest_instructions(const Database& database,
                                                      const Filter& filter, int k = 1);

// Why candidates failed, the commonest first.
struct Cause {
  std::string stage, code;  // names of the schema's enum values
  std::int64_t count = 0;
  std::string example;  // message of the latest one
};
struct Counts {
  std::int64_t trials = 0, measured = 0, censored = 0, failed = 0;  // measured includes censored
  std::vector<Cause> causes;
};
Result<Counts> count(const Database& database, const Filter& filter);

// Each task that has trials, in the order first seen.
struct TaskSummary {
  std::string workload, workload_hash, target, device_key;
  std::string title, source;  // of the workload, for people
  double operations = 0;
  double peak_gflops = 0;  // of the best record; 0: none
  std::int64_t trials = 0, measured = 0, failed = 0;
  std::optional<double> best_nanoseconds;  // as best() says
  std::int64_t best_id = 0;
  bool best_emulated = false;
};
Result<std::vector<TaskSummary>> summaries(const Database& database, const Filter& filter);

// Configurations that need no trial any more on a device of this key: measured,
// censored, or failed by their own fault. Trials lost to the environment (board,
// broker or worker gone, session cancelled, machine too restless) are not in it.
// Unique, in the order of their first trial.
Result<std::vector<std::string>> measured_configurations(const Database& database,
                                                         const std::string& workload,
                                                         const std::string& target,
                                                         const std::string& device_key);

// The newest measured record of the same artifact on a device of that key.
Result<std::optional<TuningRecord>> find_program(const Database& database,
                                                 const std::string& program_hash,
                                                 const std::string& workload,
                                                 const std::string& device_key);

// All trials of one task in the order they ended.
Result<std::vector<TuningRecord>> history(const Database& database, const Filter& filter);

}  // namespace fettle::records
