// Program: fettle inside a program of one's own, with operators and sketches of one's own.
//
//   int main(int argc, char** argv) {
//     fettle::Program program(argc, argv);
//     program.add("swish", my_operator());
//     program.add(my_sketch());
//     if (!program.wants_to_tune()) return program.run();   // fettle's own command line
//     const fettle::Tuned tuned = program.tune("swish", {.trials = 200});
//     …
//   }
//
// `run()` is the whole command `fettle`, which knows these operators by name:
// `my_program tune swish --device local`. Build workers are this same program, started again, so
// main() must come to run() where it was started with a command.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fettle/operator.h"
#include "fettle/sketch.h"

namespace fettle {

struct TuneOptions {
  std::string device = "local";
  std::uint32_t trials = 1000;
  std::string db = "fettle.db";  // keeps every trial
  std::uint64_t seed = 0;
  bool quiet = false;                  // no progress on standard error
  std::vector<std::string> more = {};  // further words of `fettle tune`, such as "--resume"
};

struct Tuned {
  bool found = false;  // a correct record of this operator for this device is in the database
  double nanoseconds = 0;
  std::string configuration;  // JSON: sketch and knobs
  std::int64_t record = 0;    // its number, as `fettle explain` and `fettle records show` take it
  int status = 0;             // that `fettle tune` ended with; what failed was said there
};

class Program {
 public:
  Program(int argc, char** argv);
  // Names are those of no network that fettle knows.
  void add(const std::string& name, const Operator& op);
  void add(CpuSketch sketch);
  // No command was given: main() may go its own way.
  bool wants_to_tune() const { return argc_ < 2; }
  int run();
  Tuned tune(const std::string& name, const TuneOptions& options);

 private:
  int argc_;
  char** argv_;
};

}  // namespace fettle
