// The reference interpreter: executes IR slowly and plainly, at any stage of
// lowering. It is the oracle for every pass and every back end.
//
// Every access is checked against its buffer's shape, per dimension; reading an
// element of an Allocate'd buffer that was never written is an error, and so is
// a division by zero. float32 arithmetic is computed in double and rounded
// after each operation (the correctly rounded result); mul_add rounds once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/ir/module.h"

namespace fettle::ir {

// A buffer's bytes, row-major; at least elements() * type.bytes() of them.
using Memory = std::map<Buffer, std::span<std::uint8_t>>;

// Empty: it ran. Otherwise what was wrong, with the statement it happened in.
using Problem = std::optional<std::string>;

// Loops of every kind run in sequence, but threads of a block only from one barrier to the
// next: all come there before any goes on. A barrier that not all come to is an error, and so
// is an element that one thread writes and another reads with no barrier in between. AsyncCopies
// are done as late as they may be, TileCalls by all their threads at once.
Problem interpret(const Stmt& stmt, const Memory& memory,
                  const std::map<Var, std::int64_t>& variables = {});

// One call of the function: iterations [begin, end) of its parallel loop.
Problem interpret(const Function& function, std::span<const std::span<std::uint8_t>> args,
                  std::int64_t begin, std::int64_t end, std::int64_t thread = 0);

// All prepare launches, then all others. buffers[i] belongs to module.buffers[i]
// and must have its size. `threads` calls share each launch's iterations.
Problem interpret(const Module& module, std::vector<std::vector<std::uint8_t>>& buffers,
                  int threads = 1);

}  // namespace fettle::ir
