// What writers of operators share.
#pragma once

#include "host/model/operators/operators.h"
#include "host/space/operators/activations.h"
#include "host/space/operators/stages.h"

namespace fettle::model {

using Shape = std::vector<std::int64_t>;

// Axes named d0, d1, …; one of extent 1 for a shape without any.
std::vector<space::Axis> axes_of(const Shape& shape);
std::vector<ir::Expr> indices_of(const std::vector<space::Axis>& axes);
// The element of an input at these indices; those of one without axes are not asked.
ir::Expr element(const NodeCall& call, std::size_t input, const std::vector<ir::Expr>& indices);
// 0 where `inside` does not hold.
ir::Expr element_where(const NodeCall& call, std::size_t input,
                       const std::vector<ir::Expr>& indices, ir::Expr inside);

// Numpy's: shapes are aligned at their ends, extents of 1 repeat. InvalidArgument.
Result<Shape> broadcast(const std::vector<Shape>& shapes);
// Of an input that is broadcast to the axes.
ir::Expr broadcast_element(const NodeCall& call, std::size_t input,
                           const std::vector<space::Axis>& axes);

// Axis numbers from the end are negative. InvalidArgument when there is no such axis, or one twice.
Result<std::size_t> axis_number(std::int64_t axis, std::size_t rank);
Result<std::vector<std::size_t>> axis_numbers(const std::vector<std::int64_t>& axes,
                                              std::size_t rank);

// InvalidArgument, Unsupported: inputs that are not of the types which the row takes.
Result<void> check_types(const NodeCall& call, Takes takes);

// float16 as float32, small integers as int32.
ir::Expr widened(const ir::Expr& value);
// To the type that it has in memory.
ir::Expr narrowed(const ir::Expr& value, ir::Scalar to);

Error invalid(const std::string& what);
Error unsupported(const std::string& what);

}  // namespace fettle::model
