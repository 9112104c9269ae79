// A network file run on a device of the fleet, through its agent.
#pragma once

#include <string>

#include "runtime/run/report.h"
#include "runtime/run/run_options.h"

namespace fettle::app {

struct DeviceOfRun {
  std::string key;
  std::string broker, broker_key;  // as ConnectionOptions has them
  std::string db;                  // with the board's calibration; "": none
};

// As run::run_network(), but that runs are timed by the board, which knows those that something
// disturbed. What Connection::open() says; Unsupported: the device's CPU lacks what the code uses;
// the board's own failure; Canceled: Ctrl-C.
Result<run::Report> run_on_device(const run::RunOptions& options, const DeviceOfRun& device);

}  // namespace fettle::app
