// Packed dot products: sums of int8 products four terms at a time, for CPUs that have an
// instruction for it (ir::Intrinsic).
#pragma once

#include <optional>

#include "host/space/compute_dag.h"
#include "schemas/wire/result.h"

namespace fettle::space {

// The DAG's one reduction, a sum of products of int8 data and an int8 constant or second input,
// takes four terms of its last reduction axis at a time; the axis counts fours then. The data
// lies along that axis. In place of the constant, and once, on loading, if it is one:
//   <constant>.quads   int32, four neighbours as bytes, zeros beyond the axis
// The data is read as it lies where it can be; else through a copy, "<data>.copy" or the one
// that is there already, with zeros up to a multiple of four.
// add_128: for instructions that take one factor as unsigned. The copy adds 128 to each value,
// and the sum's one reader takes away what that adds to the sums:
//   <constant>.offset  int32, -128 * the constant's sum
// Rows of padding stay zeros in the copy, so that a schedule may leave them out (SkipZerosStep);
// the offset is then of the rows inside, and differs from row to row. Columns of padding become
// 128: an offset that also differed along them would be as large as the output.
// An output that has no reader becomes a copy of "<stage>.sums". InvalidArgument: the DAG is
// not of that form.
Result<ComputeDag> with_dot_products(ComputeDag dag, bool add_128);

// What such a sum reads: four neighbours of the data, and four of the constant in one element.
// Nothing: it is none.
struct PackedFactors {
  const ir::Load* data;
  const ir::Load* constant;
};
std::optional<PackedFactors> packed_factors(const Stage& stage);

}  // namespace fettle::space
