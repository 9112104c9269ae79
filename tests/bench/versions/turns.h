// Whose turn it is, where two builds are compared.
#pragma once

#include <cstddef>
#include <functional>

#include "schemas/wire/result.h"

namespace fettle::bench {

// Calls step(side) for both, 0 (the baseline) first in even turns: what drifts meets both alike.
// The first Error ends it.
inline Result<void> by_turns(unsigned turn, const std::function<Result<void>(std::size_t)>& step) {
  const std::size_t first = turn % 2;
  auto done = step(first);
  return done ? step(1 - first) : done;
}

}  // namespace fettle::bench
