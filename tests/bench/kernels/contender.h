// Contender: one implementation of a layer that `fettle-bench kernels` times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::bench {

struct Layer;

// Owns its own tensors, filled like everyone else's. Not thread-safe.
class Contender {
 public:
  virtual ~Contender() = default;
  virtual const std::string& name() const = 0;            // "fettle", "onednn", "torch_bmm"
  virtual const std::string& implementation() const = 0;  // what it says of itself
  // Runs the layer `times` times back to back; returns when all are done.
  virtual Result<void> run(std::uint32_t times) = 0;
  // What the last run() took by the device's own clock; 0: it has none, whoever calls takes the
  // time.
  virtual double device_nanoseconds() const { return 0; }
  // How often another process took a core from a thread that run() runs on, so far. Here: from this
  // process's; one that runs elsewhere tells of there.
  virtual long interruptions() const;
  // The output of one run on fresh inputs, row-major in the workload's own layout. What was there
  // before is overwritten first: no earlier run can pass for this one.
  virtual Result<std::vector<float>> output() = 0;
  // Whether output() is the layer's, else WrongAnswer. Peers are held to wrong_answer().
  virtual Result<void> check(const Layer& layer);
};

}  // namespace fettle::bench
