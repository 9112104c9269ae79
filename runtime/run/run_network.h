// A network run as its user asked: loaded, filled, timed, told.
#pragma once

#include <chrono>

#include "runtime/run/report.h"
#include "runtime/run/run_options.h"

namespace fettle::run {

// `start`: of the program, for the time up to the first result.
Result<Report> run_network(const RunOptions& options, std::chrono::steady_clock::time_point start);

}  // namespace fettle::run
