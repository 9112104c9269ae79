// Oclgrind (Debian's package of that name): an OpenCL library that interprets kernels and tells of
// races and bad accesses.
#pragma once

#include "tests/support/opencl_run.h"

namespace fettle::testing {

class Oclgrind {
 public:
  // NotFound: it is not installed.
  static Result<Oclgrind> open();
  Result<std::vector<Bytes>> run(const wire::ProgramT& program) { return opencl_.run(program); }
  // What it has said since the last time it was asked.
  std::string complaints();

 private:
  Oclgrind(WatchedOpenCl opencl, std::string log)
      : opencl_(std::move(opencl)), log_(std::move(log)) {}
  WatchedOpenCl opencl_;
  std::string log_;  // a file
  std::size_t read_ = 0;
};

}  // namespace fettle::testing
