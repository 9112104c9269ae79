// A compute DAG as JSON: what a user states, what build workers and records get.
//
//   {"stages": [
//     {"name": "input", "role": "input", "type": "float32", "axes": [["n", 1], ["c", 64]]},
//     {"name": "twice", "role": "output", "axes": [["n", 1], ["c", 64]],
//      "value": "input[n, c] * 2"}]}
//
// Of each stage, producers before consumers, the output last:
//   name, axes       each axis a name and an extent
//   role             input, constant (known when the program is loaded) or output; else scratch
//   type             of an input or constant: float32, float16, int8 or int32
//   fill             of those: {"kind": "real", "low", "high", "stream"}, magnitudes in
//                    [low, high) with random signs; "int": from low to high; "zero". Left out:
//                    values whose sums of products are of O(1)
//   value            of any other stage, in the axes (expression_parser.h)
//   let              parts of the value: [["t0", "exp…"], …], each may use those before it
//   reduce, combine  axes to reduce over; sum (left out), max or min
//   store_at, shape  where the value is stored, if not at the axes: an index for each dimension
// and of the whole: tolerance {"absolute", "relative"} (left out: from the longest sum,
// tolerance.h), tail_error (what approximating functions add), allow_tf32 (true: products of
// float32 may be of factors rounded to TF32; left out: they may not).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "host/space/compute_dag.h"
#include "schemas/wire/result.h"

namespace fettle::space {

// InvalidArgument names the stage, the field and what is wrong with it.
Result<ComputeDag> dag_of(const nlohmann::json& json);

// What dag_of reads back to the same DAG. Unsupported: one that a schedule has rewritten.
Result<nlohmann::json> json_of(const ComputeDag& dag);

// The same without the names of stages and axes: equal for DAGs that compute the same in the
// same way, whatever their parts are called.
Result<nlohmann::json> structure_of(const ComputeDag& dag);

}  // namespace fettle::space
