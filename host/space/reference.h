// The reference evaluator: the outputs of a compute DAG on its seeded inputs,
// straight from the DAG's expressions, with sums in double. It knows nothing of
// schedules, lowering or code generation.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "host/space/compute_dag.h"
#include "host/space/tolerance.h"
#include "schemas/wire/result.h"

namespace fettle::space {

struct ExpectedTensor {
  std::string name;  // of the output stage
  ir::DataType type;
  std::vector<std::uint8_t> bytes;  // row-major, as the program's output buffer
  Tolerance tolerance;
};

// One per output of the DAG, in the order of its output stages. A large layer takes
// minutes; `stop` ends it soon: Canceled.
Result<std::vector<ExpectedTensor>> evaluate(const ComputeDag& dag,
                                             const std::stop_token& stop = {});

// The bytes that a placeholder holds (schemas/fill/fill.h).
Result<std::vector<std::uint8_t>> filled(const ir::Buffer& buffer, const ir::Fill& fill);

}  // namespace fettle::space
