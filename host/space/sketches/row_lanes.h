// Reductions along rows by vectors: which stages are some, and how many partial results of
// a row are computed side by side.
#pragma once

#include "host/space/compute_dag.h"
#include "host/space/cpu_target.h"

namespace fettle::space {

// A reduction axis whose neighbours are neighbours in all data that is read and moves with it:
// it alone moves their last index, one by one. constants: these are looked at too.
bool is_contiguous(const ComputeDag& dag, const Stage& stage, const Axis& axis, bool constants);

// A reduction of [n] over one contiguous axis.
bool reduces_rows(const ComputeDag& dag, const Stage& stage);

// Partial results of a row that is `length` long, of 32 bits each. A vector's, but 16 at least:
// additions wait for each other, and 16 are four of the shortest vectors. Half as many where
// those divide the length.
std::int64_t row_lanes(std::int64_t length, const CpuTarget& target);

}  // namespace fettle::space
