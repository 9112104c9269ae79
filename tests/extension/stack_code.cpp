// Code generation for the stack machine (stack_code.h).
#include "tests/extension/stack_code.h"

#include <bit>
#include <map>

#include "host/ir/visit.h"
#include "host/space/wire_types.h"
#include "tests/extension/code_writer.h"

namespace fettle::extension {
namespace {

using wire::ScalarType;

struct Stop {
  std::string what;
};

class FunctionWriter {
 public:
  explicit FunctionWriter(const ir::Function& function) : arguments_(function.params.size()) {
    for (const ir::Buffer& param : function.params) {
      const auto place = buffers_.size();
      buffers_[param.get()] = place;
    }
    // One launch is one iteration: variables begin as 0.
    variables_[function.parallel.get()] = code.new_variable();
    write(function.body);
  }
  CodeWriter code;

 private:
  static ScalarType type_of(const ir::DataType& type) {
    if (type.lanes != 1) throw Stop{"a vector"};
    return space::wire_type(type.scalar);
  }

  void write(const ir::Stmt& stmt) {
    ir::visit(
        stmt, [&](const ir::For& n) { write_loop(n); },
        [&](const ir::Store& n) {
          std::size_t exit = 0;
          if (n.predicate) write(n.predicate), exit = code.here(), code.emit(Op::JumpIfZero);
          write(n.indices.at(0));
          write(n.value);
          code.emit(Op::Store, type_of(n.buffer->type), place_of(n.buffer));
          if (n.predicate) code.jump_to(exit, code.here());
        },
        [&](const ir::Block& n) {
          for (const ir::Stmt& child : n.stmts) write(child);
        },
        [&](const ir::IfThenElse& n) {
          write(n.condition);
          const std::size_t otherwise = code.here();
          code.emit(Op::JumpIfZero);
          write(n.then_stmt);
          const std::size_t exit = code.here();
          code.emit(Op::Jump);
          code.jump_to(otherwise, code.here());
          if (n.else_stmt) write(n.else_stmt);
          code.jump_to(exit, code.here());
        },
        [&](const ir::Allocate& n) {
          const auto bytes = n.buffer->elements() * n.buffer->type.bytes();
          buffers_[n.buffer.get()] = arguments_ + code.new_local(static_cast<std::uint64_t>(bytes));
          write(n.body);
        },
        [&](const ir::Let& n) {
          write(n.value);
          const auto variable = code.new_variable();
          code.emit(Op::SetVar, ScalarType::Int64, variable);
          variables_[n.var.get()] = variable;
          write(n.body);
        },
        [](const ir::OneOf<ir::Barrier, ir::TileCall, ir::AsyncCopies, ir::AwaitCopies> auto&) {
          throw Stop{"threads that go together"};
        });
  }

  // The loop counts from 0; its variable is the count and `min`.
  void write_loop(const ir::For& n) {
    if (n.kind != ir::ForKind::Serial) throw Stop{"a loop that is not serial"};
    write(n.extent);
    const CodeWriter::Loop loop = code.begin_loop();
    const auto variable = code.new_variable();
    code.emit(Op::PushVar, ScalarType::Int64, loop.variable);
    write(n.min);
    code.emit(Op::Binary, ScalarType::Int64, static_cast<std::size_t>(ir::BinaryOp::Add));
    code.emit(Op::SetVar, ScalarType::Int64, variable);
    variables_[n.var.get()] = variable;
    write(n.body);
    code.end_loop(loop);
  }

  void write(const ir::Expr& expr) {
    const ScalarType type = type_of(expr->type);
    ir::visit(
        expr, [&](const ir::IntImm& n) { code.emit(Op::PushInt, type, 0, n.value); },
        [&](const ir::FloatImm& n) {
          code.emit(Op::PushReal, type, 0, std::bit_cast<std::int64_t>(n.value));
        },
        [&](const ir::VarRef& n) {
          const auto found = variables_.find(n.var.get());
          if (found == variables_.end()) throw Stop{"a variable that nobody sets: " + n.var->name};
          code.emit(Op::PushVar, type, found->second);
        },
        [&](const ir::Unary& n) {
          write(n.a);
          code.emit(Op::Unary, type, static_cast<std::size_t>(n.op));
        },
        [&](const ir::Binary& n) {
          write(n.a), write(n.b);
          code.emit(Op::Binary, type_of(n.a->type), static_cast<std::size_t>(n.op));
        },
        [](const ir::MulAdd&) { throw Stop{"a fused multiply-add"}; },
        [](const ir::Intrinsic&) { throw Stop{"an instruction of another machine"}; },
        [&](const ir::Select& n) {
          write(n.condition), write(n.then_value), write(n.else_value);
          code.emit(Op::Select, type);
        },
        [&](const ir::Cast& n) {
          write(n.value);
          code.emit(Op::Cast, type, static_cast<std::size_t>(type_of(n.value->type)));
        },
        [&](const ir::Reinterpret& n) {
          write(n.value);
          code.emit(Op::Reinterpret, type, static_cast<std::size_t>(type_of(n.value->type)));
        },
        [&](const ir::Load& n) { write_load(n, type); },
        [](const ir::OneOf<ir::Ramp, ir::Broadcast> auto&) { throw Stop{"a vector"}; });
  }

  // What is off reads 0 of its type and no memory.
  void write_load(const ir::Load& n, ScalarType type) {
    const auto value = code.new_variable();
    std::size_t exit = 0;
    if (n.predicate) {
      code.emit(n.buffer->type.is_float() ? Op::PushReal : Op::PushInt, type);
      code.emit(Op::SetVar, type, value);
      write(n.predicate);
      exit = code.here();
      code.emit(Op::JumpIfZero);
    }
    write(n.indices.at(0));
    code.emit(Op::Load, type, place_of(n.buffer));
    if (!n.predicate) return;
    code.emit(Op::SetVar, type, value);
    code.jump_to(exit, code.here());
    code.emit(Op::PushVar, type, value);
  }

  std::size_t place_of(const ir::Buffer& buffer) const {
    const auto found = buffers_.find(buffer.get());
    if (found == buffers_.end()) throw Stop{"a buffer that is not there: " + buffer->name};
    return found->second;
  }

  std::size_t arguments_;
  std::map<const ir::BufferDecl*, std::size_t> buffers_;
  std::map<const ir::VarDecl*, std::uint16_t> variables_;
};

}  // namespace

Result<StackImage> compile_for_stack(const ir::Module& module) try {
  StackImage out;
  out.image.kind = wire::ImageKind::Extension;
  for (const ir::Function& function : module.functions) {
    FunctionWriter writer(function);
    out.slots = std::max(out.slots, writer.code.most_slots());
    writer.code.append_to(out.image, function.name,
                          static_cast<std::uint32_t>(function.params.size()));
    out.instructions += writer.code.code().size();
    out.listing += function.name + ":\n" + listing(writer.code.code());
  }
  return out;
} catch (const Stop& stop) {
  return Error{ErrorCode::BuildError, "the stack machine has no such thing: " + stop.what};
}

}  // namespace fettle::extension
