// What a network is compiled for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/app/connection.h"
#include "host/model/task_list.h"
#include "host/network/schedules.h"
#include "host/tune/pipeline.h"
#include "schemas/wire/result.h"

namespace fettle::app {

struct NetworkTargetOptions {
  std::string db;                  // "": none
  std::string device;              // a key; "": that of the records, or this machine's CPU
  std::string profile;             // a board that need not be there
  std::string accelerator;         // its key: of the device beside the CPU; "": none
  std::string broker, broker_key;  // of that device: as ConnectionOptions has them
  int threads = 0;                 // 0: as tuned; 1 without records
};

struct NetworkTarget {
  network::Schedules schedules;
  std::string device_key;  // "" without records
};

// With records: the target of that device for which most of the tasks are tuned. Without any: the
// profile's, or what the device says of itself, which must be there. NotFound: no record of that
// device; InvalidArgument: records of several devices, of which none is named, or no such profile;
// what Connection::open() says.
Result<NetworkTarget> network_target(const NetworkTargetOptions& options,
                                     const model::TaskList& tasks, const tune::StopSignal& stop);

// Of the accelerator `options.accelerator`, by its records, or, without any, as it says of itself.
// InvalidArgument: that device is no accelerator; else as network_target().
Result<network::Schedules> accelerator_schedules(const NetworkTargetOptions& options,
                                                 const tune::StopSignal& stop);

// Of a session with that device. `threads`: of this machine's CPU, where it is that; 0: all but
// one.
ConnectionOptions connection_options(const NetworkTargetOptions& options,
                                     const std::string& device_key, int threads,
                                     const tune::StopSignal& stop);

}  // namespace fettle::app
