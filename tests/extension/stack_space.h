// The stack machine as a target, and its one sketch.
#pragma once

#include "host/space/target.h"
#include "host/space/task_space.h"

namespace fettle::extension {

struct StackTarget {
  static constexpr const char* kBackend = "stack";

  std::int64_t slots = 0;  // of its stack
  std::int64_t memory_bytes = 0;

  space::Target target() const;
  static Result<StackTarget> parse(const space::Target& target);
};

// Loops as the DAG has them; the output's innermost axis cut into tiles, which may be unrolled.
space::TaskSpace open_stack_space(space::ComputeDag dag);

}  // namespace fettle::extension
