// What a task of the accelerator computes: a sum of products with a tail, or the largest under a
// window.
#pragma once

#include <memory>

#include "host/backend/vta/bound.h"
#include "host/backend/vta/generate.h"

namespace fettle::vta::host {

// Of one DAG on one design. Configurations are of the space of its sketch. Thread-safe.
class Computation {
 public:
  virtual ~Computation() = default;
  virtual const std::vector<ir::ProgramBuffer>& buffers() const = 0;
  // Unsupported: nothing fits the chip.
  virtual Result<space::Sketch> sketch() const = 0;
  // BuildError: instructions cannot say it.
  virtual Result<Generated> generate(const space::SearchSpace& space,
                                     const space::Configuration& configuration) const = 0;
  // Entries of a memory for one tile.
  virtual std::int64_t tile_entries(const space::SearchSpace& space,
                                    const space::Configuration& configuration,
                                    Memory memory) const = 0;
  virtual const Bound& bound() const = 0;
  virtual std::string bound_text() const = 0;  // the formulas with their numbers, in lines
  virtual double operations() const = 0;       // of integers, tail included
};

// Unsupported, in one line: what of the DAG the accelerator cannot do.
Result<std::unique_ptr<const Computation>> computation_of(const space::ComputeDag& dag,
                                                          const Design& design);

}  // namespace fettle::vta::host
