// Helpers that operators share to make stages, fused tails among them.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "host/space/compute_dag.h"

namespace fettle::space {

Axis make_axis(std::string name, std::int64_t extent);

// A placeholder whose values have magnitudes in [0.25, 1) * scale and random sign:
// never zero, so that a missing term always shows.
Stage make_placeholder(std::string name, std::vector<std::pair<std::string, std::int64_t>> dims,
                       ir::Role role, std::uint64_t stream, double scale);

Stage make_stage(std::string name, std::vector<Axis> axes, std::vector<Axis> reduce_axes,
                 ir::Expr body);

// buffer[axes of stage].
ir::Expr at(const Stage& stage, const std::vector<ir::Expr>& indices);

// Appends the workload's tail to the last stage and marks the last one as output.
// Bias runs over the innermost axis.
void append_tail(ComputeDag& dag, const Workload& workload);

}  // namespace fettle::space
