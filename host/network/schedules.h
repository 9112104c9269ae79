// Which schedule a piece of a network gets: that of its best record, of a similar task's, or, where
// nothing is known, what the cost model holds for the best of some.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/backend/backend.h"
#include "host/records/database.h"
#include "host/space/workload.h"
#include "schemas/network_generated.h"

namespace fettle::network {

struct Schedule {
  space::Configuration configuration;
  wire::ScheduleOrigin origin = wire::ScheduleOrigin::Untuned;
  double expected_ns = 0;  // what the record says; 0: nothing is known
};

// Never changed once made: used by several threads.
class Schedules {
 public:
  // No record is known.
  explicit Schedules(space::Target target) : target_(std::move(target)) {}
  // Those of devices of that key. Errors as of the database.
  static Result<Schedules> of(const records::Database& database, space::Target target,
                              const std::string& device_key);

  const space::Target& target() const { return target_; }
  // The most promising first, different in their algorithm as far as records are: up to that many.
  // The next one is for the case that one cannot be built, or to be timed beside it. The same for
  // the same records. At least one.
  std::vector<Schedule> of(const space::Workload& workload, const backend::Task& task,
                           std::size_t most) const;

 private:
  struct Record {
    std::string configuration;
    double nanoseconds;
  };
  struct Known {
    space::Workload workload;
    std::vector<Record> records;  // the fastest first
  };
  // Of tasks of which nothing is known yet.
  void learn(const std::vector<records::TuningRecord>& best);
  std::vector<Schedule> tuned(const Known& known, const backend::Task& task,
                              std::size_t most) const;

  space::Target target_;
  std::map<std::string, Known> known_;  // by the task's key
};

}  // namespace fettle::network
