// Helpers that operators share to make stages.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <utility>

#include "host/space/compute_dag.h"

namespace fettle::space {

Axis make_axis(std::string name, std::int64_t extent);

// A placeholder whose values have magnitudes in [0.25, 1) * scale and random sign:
// never zero, so that a missing term always shows.
Stage make_placeholder(std::string name, std::vector<std::pair<std::string, std::int64_t>> dims,
                       ir::Role role, std::uint64_t stream, double scale,
                       ir::Scalar type = ir::Scalar::Float32);

// Integers from -magnitude to magnitude.
Stage make_int_placeholder(std::string name, std::vector<std::pair<std::string, std::int64_t>> dims,
                           ir::Role role, std::uint64_t stream, ir::Scalar type,
                           std::int64_t magnitude);

// float32 or float16 with values of that scale, or int8 with the whole of its range but -128.
Stage make_operand(ir::Scalar type, std::string name,
                   std::vector<std::pair<std::string, std::int64_t>> dims, ir::Role role,
                   std::uint64_t stream, double scale);

// Its type as sums and tails compute with it: float16 as float32, int8 as int32.
ir::Expr widened(const ir::Expr& value);

// sum / count to the nearest int8, halves upward; both int32, count > 0. Exact for sums of
// fewer than 2^15 int8: the quotient of two such numbers as float32 is never rounded across
// a half.
ir::Expr int8_mean(const ir::Expr& sum, const ir::Expr& count);
inline constexpr std::int64_t kLongestInt8Mean = (1 << 15) - 1;

// a * b of float32, of float16 as float32, or of int8 as int32.
ir::Expr product(const ir::Expr& a, const ir::Expr& b);

// Four int8 as the bytes of an int32, the first one lowest.
ir::Expr packed_bytes(std::span<const ir::Expr> four);

Stage make_stage(std::string name, std::vector<Axis> axes, std::vector<Axis> reduce_axes,
                 ir::Expr body, Combiner combiner = Combiner::Sum);

// `source` with before[d] and after[d] elements of `outside` around each axis.
Stage make_pad(const Stage& source, const std::vector<std::int64_t>& before,
               const std::vector<std::int64_t>& after, ir::Expr outside);

// buffer[axes of stage].
ir::Expr at(const Stage& stage, const std::vector<ir::Expr>& indices);

}  // namespace fettle::space
