// TuningRecord: everything known of one trial. The log's unit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schemas/measure_generated.h"

namespace fettle::records {

struct TuningRecord {
  std::int64_t id = 0;          // of the database; 0: not stored yet
  std::int64_t device_row = 0;  // of the database: the state its device was in; 0: not stored yet
  std::string session;          // hex; which run of `fettle tune`
  std::string workload;         // its DAG's text: WorkloadForm::canonical
  std::string workload_hash;
  std::string title, source;  // of the workload, for people; "" when not known
  std::string target;         // canonical JSON
  std::string configuration;  // SearchSpace::to_json
  std::string device_key;
  std::string board_id;
  bool emulated = false;     // of the device's row, where the database read it; not stored
  std::string program_hash;  // hex; "" when it was not built
  std::int64_t unix_ms = 0;  // when it ended
  double operations = 0;     // nominal, of the workload
  double peak_gflops = 0;    // of that device and thread count when measured; 0: unknown
  std::uint64_t build_ns = 0;
  bool reused = false;  // same program_hash as an earlier trial: its outcome, not measured again
  // Its program's time, measured again beside the other fastest ones of its task, at the speed that
  // the device had in their trials (host/tune/finals.h); empty: it was not.
  std::optional<double> confirmed_nanoseconds;
  wire::OutcomeT outcome;  // Measurement or Failure, with times and conditions

  const wire::MeasurementT* measurement() const { return outcome.body.AsMeasurement(); }
  const wire::FailureT* failure() const { return outcome.body.AsFailure(); }
  // Nanoseconds per run, of a device's own cycles by their rate; empty for failures, censored
  // samples and clocks without a rate.
  std::optional<double> nanoseconds() const;
  // What it counts for among the task's records: confirmed where it was, else as measured. Empty
  // for what has no time of its own.
  std::optional<double> rated_nanoseconds() const {
    const std::optional<double> measured = nanoseconds();
    return measured && confirmed_nanoseconds ? confirmed_nanoseconds : measured;
  }
};

// What a program is confirmed to take: all trials of a session that made it.
struct Confirmation {
  std::string session, workload, target, program_hash;  // as in the trials' records
  std::string configuration;                            // of one of them, for people
  double nanoseconds = 0;
};

}  // namespace fettle::records
