// Calibration of one board: the ceilings that % of peak and the roofline rest on,
// measured by kernels of ours through the same Runner as every trial.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/backend/calibration.h"
#include "host/tune/pipeline.h"
#include "host/tune/roofline.h"
#include "host/tune/tune.h"

namespace fettle::tune {

// Figures by name, as the database keeps them: "arithmetic_gflops_core",
// "integer_gops_core", "l1_gbytes_per_s_all", "memory_gbytes_per_s_core", "launch_ns_core", …:
// _core is one thread, _all every thread of the target.
struct CalibrationFigures {
  std::map<std::string, double> figures;
  std::vector<std::string> problems;  // programs that gave no figure, and why
};

// Runs the programs one after the other, on that board alone. Error: there is no broker any
// more or `stop` was requested (Canceled). What a program reaches is its fastest sample: a ceiling
// is not what a disturbed run shows.
// `others` receives outcomes of trials that were on the boards meanwhile.
Result<CalibrationFigures> calibrate(Runner& runner, const std::string& board_id, StopSignal& stop,
                                     std::vector<backend::CalibrationProgram> programs,
                                     std::vector<Measured>& others);

// The better figure of either: a calibration that something disturbed shows too little.
std::map<std::string, double> best_of(std::map<std::string, double> a,
                                      const std::map<std::string, double>& b);

// The roofline for that many threads; zero where a figure is absent.
Roofline roofline_of(const std::map<std::string, double>& figures, int threads);

}  // namespace fettle::tune
