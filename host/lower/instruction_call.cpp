// Calls in place of loops (instruction_call.h).
#include "host/lower/instruction_call.h"

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

}  // namespace fettle::lower
