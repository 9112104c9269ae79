// The reference evaluator: the outputs of a compute DAG on its seeded inputs,
// straight from the DAG's expressions, with sums in double. It knows nothing of
// schedules, lowering or code generation.
#pragma once

#include <cstdint>
#include <map>
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

// Bytes of placeholders, row-major.
using PlaceholderBytes = std::map<ir::Buffer, std::vector<std::uint8_t>>;

// One per output of the DAG, in the order of its output stages. Placeholders that are not `given`
// hold what fills them. A large layer takes minutes; `stop` ends it soon: Canceled. `given` bytes
// of another size than their buffer: InvalidArgument.
Result<std::vector<ExpectedTensor>> evaluate(const ComputeDag& dag,
                                             const std::stop_token& stop = {},
                                             const PlaceholderBytes& given = {});

// The bytes that a placeholder holds (schemas/fill/fill.h).
Result<std::vector<std::uint8_t>> filled(const ir::Buffer& buffer, const ir::Fill& fill);

}  // namespace fettle::space
