// Programs that measure a device's ceilings, in the form every candidate has: the
// percent of peak and the roofline rest on what they reach on that very board.
#pragma once

#include <string>
#include <vector>

#include "host/space/target.h"
#include "schemas/program_generated.h"
#include "schemas/wire/result.h"

namespace fettle::backend {

enum class Ceiling {
  Arithmetic,         // multiply-adds of float32 vectors, all operands in registers
  IntegerArithmetic,  // the same of integers, by the instruction that does most at once
  Bandwidth,          // reads that hit one level of the memory hierarchy; of the first, writes too
  LaunchOverhead      // a launch that does nothing
};

struct CalibrationProgram {
  std::string name;  // "fma one core", "read L1", "add in L1", "read memory all cores" …
  Ceiling ceiling = Ceiling::Arithmetic;
  int cache_level = 0;    // Bandwidth: 1, 2, 3; 0: main memory
  int threads = 1;        // that it must be run with: 1 or target.threads()
  double operations = 0;  // per run, of all threads together; a multiply-add is two
  double bytes = 0;       // read and written per run, of all threads together
  wire::ProgramT program;
};

// For one thread and, where target.threads() > 1, for all of them. Unsupported: a back
// end without calibration.
Result<std::vector<CalibrationProgram>> calibration_programs(const space::Target& target);

}  // namespace fettle::backend
