// Alternatives of a compute DAG: other algorithms for what it computes, chosen before anything is
// scheduled. Each is a pure function from DAG to DAG in a file of its own.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/ir/intrinsics.h"
#include "host/space/algorithms/winograd_convolution.h"

namespace fettle::space {

enum class Algorithm : std::uint8_t { Direct, DotProduct, Winograd };

struct Alternative {
  std::string name;  // "direct", "winograd_4x2", "dot_product_channels_last", …
  Algorithm algorithm = Algorithm::Direct;
  bool channels_last = false;  // of the DAG with its channels moved there
  ComputeDag dag;
  // How much larger its rounding errors are than those of the plain sum: 1 or more.
  double error_growth = 1;
  std::optional<WinogradStages> winograd = std::nullopt;  // of that algorithm
};

// What of a target decides which algorithms are worth trying on it.
struct AlgorithmFacts {
  const ir::IntrinsicRow* byte_products = nullptr;  // the instruction that sums products of bytes
  std::int64_t last_cache_bytes = 0;                // of the last cache; 0: there is none
  // Of Winograd's algorithm.
  LastTile last_tile = LastTile::Overlaps;
  std::vector<std::pair<int, int>> tiles{{2, 2}, {4, 2}, {4, 4}};  // rows and columns
  bool float16 = false;  // also of what is read as float16, which it then stores
};

// The DAG itself first, then its algorithms; then those of the DAG with channels last. Those
// that are worth trying on the target: packed dot products where it has an instruction for
// them, Winograd's algorithm where there is work to save and its errors leave a result.
std::vector<Alternative> alternatives_of(const ComputeDag& dag, const AlgorithmFacts& target);

}  // namespace fettle::space
