// Rewriting of compute DAGs that steps of a schedule and alternatives of an algorithm share.
#pragma once

#include <string>
#include <vector>

#include "host/space/compute_dag.h"
#include "schemas/wire/result.h"

namespace fettle::space {

int index_of(const ComputeDag& dag, const std::string& stage);  // -1: none
// Names of stages that read the buffer.
std::vector<std::string> readers_of(const ComputeDag& dag, const ir::Buffer& buffer);
// Of what the stage reads, what is computed from inputs; the last of several. Null: nothing.
const Stage* computed_source(const ComputeDag& dag, const Stage& stage);
std::vector<ir::Expr> refs(const std::vector<Axis>& axes);
bool is_var(const ir::Expr& e, const ir::Var& var);  // the variable alone

// The stage's body in place of every load of it; the stage is gone. InvalidArgument: it is a
// placeholder, a reduction or an output.
Result<void> inline_stage(ComputeDag& dag, const std::string& stage);

// The stage's computation as a stage of that name, which the stage itself becomes a copy of.
void compute_apart(ComputeDag& dag, const std::string& stage, std::string name);

// Elementwise stages from inputs on, before the output: what inlining leaves no launch of. Not
// what is made of constants.
std::vector<std::string> elementwise_stages(const ComputeDag& dag);

}  // namespace fettle::space
