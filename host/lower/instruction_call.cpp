// Calls in place of loops (instruction_call.h).
#include "host/lower/instruction_call.h"

#include <algorithm>

#include "host/ir/mutator.h"
#include "host/ir/simplify.h"

namespace fettle::lower {

ir::Expr instruction_call(const ir::IntrinsicRow& row, const ir::Expr& value, const ir::Var& along,
                          const ir::Expr& so_far) {
  std::vector<ir::Expr> args;
  const auto operands = ir::operands_of(row, value);
  for (const ir::Load* load : *operands) {
    const ir::DataType packed = row.operands[args.size()].packed;
    const int elements = packed.bytes() / load->buffer->type.bytes();
    std::vector<ir::Expr> at;
    for (const ir::Expr& index : load->indices) {
      at.push_back(ir::simplify(ir::substitute(index, {{along, ir::int_imm(0)}})));
    }
    if (elements > 1) at.back() = ir::ramp(at.back(), 1, elements);
    args.push_back(ir::reinterpret(packed, ir::load(load->buffer, at, nullptr, elements)));
  }
  args.push_back(so_far);
  return ir::intrinsic(row, std::move(args));
}

ir::Stmt tile_call(const ir::IntrinsicRow& row, const ir::Expr& value, const ir::Expr& to,
                   std::vector<ir::Var> loops, bool in_threads) {
  const auto lies = [&](bool ir::Operand::* along) {
    return std::ranges::any_of(row.operands, along);
  };
  ir::Substitution sides;
  auto loop = loops.begin();
  for (const auto& [along, place] :
       {std::pair{&ir::Operand::along_m, row.m}, std::pair{&ir::Operand::along_n, row.n},
        std::pair{&ir::Operand::along_k, row.k}}) {
    if (lies(along) && loop != loops.end()) sides[*loop++] = ir::var_ref(place);
  }
  std::vector<ir::Expr> operands;
  const auto add = [&](const ir::Load& load) {
    std::vector<ir::Expr> at;
    for (const ir::Expr& index : load.indices) {
      at.push_back(ir::simplify(ir::substitute(index, sides)));
    }
    operands.push_back(ir::load(load.buffer, at));
  };
  if (value) {
    const auto read = ir::operands_of(row, value);
    for (const ir::Load* load : *read) add(*load);
  }
  add(std::get<ir::Load>(to->node));
  ir::Stmt call = ir::make_tile_call(row, std::move(operands));
  if (in_threads) return call;
  return ir::make_for(ir::make_var("lane"), ir::int_imm(0), ir::int_imm(row.threads),
                      ir::ForKind::Bound, std::move(call), ir::ThreadAxis::ThreadX);
}

}  // namespace fettle::lower
