// Compute DAG: what a task computes, as stages with named axes. Says nothing
// of how: loops, tiles and placement are the Schedule's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/ir/module.h"
#include "schemas/wire/result.h"

namespace fettle::space {

struct Axis {
  std::string name;
  ir::Var var;  // int32, in [0, extent)
  std::int64_t extent = 0;
};

// What a reduction does with the values of its body. Sum begins at 0, Max and Min
// at minus and plus infinity (integers: at the type's end).
enum class Combiner : std::uint8_t { Sum, Max, Min };
ir::Expr neutral_of(Combiner combiner, ir::DataType type);  // of one lane
ir::Expr combine(Combiner combiner, ir::Expr so_far, ir::Expr value);

// One tensor. buffer[axes] = body, or body combined over reduce_axes. The body
// reads other stages by Loads of their buffers, with indices affine in the axes, or any that lie
// inside where the other one is a placeholder; a Load with a predicate is 0 where the predicate is
// false.
struct Stage {
  std::string name;
  ir::Buffer buffer;
  std::vector<Axis> axes;
  std::vector<Axis> reduce_axes;  // outermost first
  Combiner combiner = Combiner::Sum;
  ir::Expr body;  // null: a placeholder, filled before the first run
  // Where the value at `axes` is stored, one index per dimension, each place once;
  // empty: at the axes themselves. Where an operator or a schedule cuts an axis in two.
  std::vector<ir::Expr> store_at;
  ir::Role role = ir::Role::Scratch;
  ir::Fill fill;  // of a placeholder

  bool placeholder() const { return !body; }
};

// Of a sum of products: the factor that is read from `buffer`, if need be widened
// after reading. Null: there is none, or the stage is no such sum.
const ir::Load* factor_from(const Stage& stage, const ir::Buffer& buffer);

// |actual - expected| <= absolute + relative * |expected|.
struct Tolerance {
  double absolute = 0, relative = 0;
};

struct ComputeDag {
  std::vector<Stage> stages;  // producers before consumers; the last one is the output
  // Of operators that know it: what their outputs may be off; none: tolerance.h says it
  // from the longest sum.
  std::optional<Tolerance> tolerance;
  double tail_error = 0;  // absolute, which functions of the tail add
  // Products of float32 may be of factors rounded to TF32, where a device multiplies those faster.
  bool allow_tf32 = false;

  const Stage* find(const std::string& name) const;  // null: none
  const Stage* find(const ir::Buffer& buffer) const;
};

// Known when the program is loaded: a constant, or made of constants only.
bool is_constant(const ComputeDag& dag, const Stage& stage);

// What a sum of products of data and a constant reads, if need be widened after reading;
// neither under a predicate. Nothing: the stage is no such sum.
struct Factors {
  const ir::Load* data = nullptr;
  const ir::Load* constant = nullptr;
};
std::optional<Factors> factors_of(const ComputeDag& dag, const Stage& stage);

// Streams of the fills, by role.
inline constexpr std::uint64_t kInputStream = 1, kWeightStream = 2, kBiasStream = 3,
                               kResidualStream = 4, kSecondStream = 5, kShiftStream = 6,
                               kFactorStream = 7;

// Length of the longest sum: what the tolerance rests on.
std::int64_t reduction_length(const ComputeDag& dag);

}  // namespace fettle::space
