// Kernels in OpenCL C (source_writer.h): statements and declarations.
#include "host/backend/opencl_c/source_writer.h"

#include <algorithm>

#include "host/backend/gpu_program.h"
#include "host/backend/opencl_c/accesses.h"
#include "host/backend/opencl_c/expressions.h"
#include "host/ir/intrinsics.h"
#include "host/ir/mutator.h"
#include "host/ir/visit.h"
#include "host/lower/gpu/launch_shape.h"

namespace fettle::backend::opencl_c {
namespace {

struct Index {
  ir::ThreadAxis axis;
  const char *name, *call;
};
constexpr Index kIndices[] = {
    {ir::ThreadAxis::BlockX, "block_x", "get_group_id(0)"},
    {ir::ThreadAxis::BlockY, "block_y", "get_group_id(1)"},
    {ir::ThreadAxis::BlockZ, "block_z", "get_group_id(2)"},
    {ir::ThreadAxis::ThreadX, "thread_x", "get_local_id(0)"},
    {ir::ThreadAxis::ThreadY, "thread_y", "get_local_id(1)"},
    {ir::ThreadAxis::ThreadZ, "thread_z", "get_local_id(2)"},
};

class Kernel {
 public:
  Kernel(const ir::Function& function, Types types, Dot* dot)
      : function_(function),
        types_(types),
        shape_(lower::launch_shape(function)),
        scopes_(names_),
        expressions_(types, dot, names_, scopes_) {}

  Result<std::string> text() {
    if (function_.written.size() != function_.params.size() || function_.extent != 1 ||
        function_.thread) {
      return Error{ErrorCode::Internal, function_.name + " is no function of a GPU"};
    }
    const std::string head = signature();
    indices();
    scopes_.enter();
    ir::walk(
        function_.body,
        [&](const ir::Stmt& s) {
          const auto* allocate = std::get_if<ir::Allocate>(&s->node);
          if (allocate && allocate->buffer->scope == ir::Scope::BlockShared) {
            declare_array(allocate->buffer);
          }
        },
        nullptr);
    stmt(function_.body);
    scopes_.leave();
    if (!expressions_.problem.empty()) {
      return Error{ErrorCode::Internal, function_.name + ": " + expressions_.problem};
    }
    return head + scopes_.text() + "}\n";
  }
  const Helpers& helpers() const { return expressions_.helpers; }

 private:
  void line(const std::string& text) { scopes_.line(text); }

  std::string signature() {
    const std::string name = kernel_name(function_);
    std::string text = "__kernel __attribute__((reqd_work_group_size(" +
                       std::to_string(shape_.block[0]) + ", " + std::to_string(shape_.block[1]) +
                       ", " + std::to_string(shape_.block[2]) + ")))\nvoid " + name + "(";
    for (std::size_t i = 0; i < function_.params.size(); ++i) {
      const ir::Buffer& buffer = function_.params[i];
      Array array;
      array.name = names_.of(buffer.get(), buffer->name);
      text += std::string(i ? ",\n" : "") + (i ? std::string(name.size() + 6, ' ') : "");
      if (reads_texels(function_, i)) {
        array.texels_begin = names_.fresh(buffer->name + "_begin");
        text += "__read_only image1d_buffer_t " + array.name + ", int " + array.texels_begin;
      } else {
        text += std::string("__global ") + (function_.written[i] ? "" : "const ") +
                types_.memory(buffer->type.scalar) + "* restrict " + array.name;
      }
      expressions_.declare(buffer, array);
    }
    return text + ") {\n";
  }

  // Of blocks and threads along the axes that loops are bound to, each under one name.
  void indices() {
    std::set<ir::ThreadAxis> bound;
    ir::walk(
        function_.body,
        [&](const ir::Stmt& s) {
          const auto* loop = std::get_if<ir::For>(&s->node);
          if (loop && loop->kind == ir::ForKind::Bound) bound.insert(loop->axis);
        },
        nullptr);
    for (const Index& index : kIndices) {
      if (bound.count(index.axis) == 0) continue;
      axes_[index.axis] = names_.fresh(index.name);
      line("const int " + axes_[index.axis] + " = " + index.call + ";");
    }
  }

  void declare_array(const ir::Buffer& buffer) {
    Array array;
    const bool shared = buffer->scope == ir::Scope::BlockShared;
    const bool own = buffer->scope == ir::Scope::Register || buffer->scope == ir::Scope::Thread;
    if (!shared && !own) {
      expressions_.fail(std::string("a GPU has no memory ") + ir::row_of(buffer->scope).name);
    }
    array.name = names_.of(buffer.get(), buffer->name);
    array.halves = shared && types_.by_call(buffer->type);
    if (own && !buffer->type.is_bool()) array.lanes = lanes_of(function_, buffer);
    const std::int64_t count = buffer->elements() / array.lanes;
    array.only_one = own && count == 1;
    std::string type = types_.memory(buffer->type.scalar);
    if (!buffer->type.is_bool()) type = types_.value(buffer->type.with_lanes(array.lanes));
    if (array.halves) type = "ushort";
    line((shared ? "__local " : "") + type + " " + array.name +
         (array.only_one ? "" : "[" + std::to_string(count) + "]") + ";");
    expressions_.declare(buffer, array);
  }

  void stmt(const ir::Stmt& s) {
    if (!s || !expressions_.problem.empty()) return;
    ir::visit(
        s, [&](const ir::For& n) { loop(n); }, [&](const ir::Store& n) { store(s, n); },
        [&](const ir::Block& n) {
          for (const ir::Stmt& child : n.stmts) stmt(child);
        },
        [&](const ir::IfThenElse& n) {
          expressions_.begin(s);
          const std::string condition = expressions_.value(n.condition).text;
          definitions();
          within("if (" + condition + ") {", n.then_stmt, n.else_stmt);
        },
        [&](const ir::Allocate& n) {
          // Copies of an unrolled body may stand in one block of the text.
          const bool shared = n.buffer->scope == ir::Scope::BlockShared;
          if (!shared && visible_.insert(n.buffer.get()).second) declare_array(n.buffer);
          stmt(n.body);
        },
        [&](const ir::Let& n) {
          expressions_.begin(s);
          const std::string value = expressions_.value(n.value).text;
          definitions();
          if (auto range = ir::bounds_of(n.value, expressions_.ranges)) {
            expressions_.ranges[n.var] = *range;
          }
          line("const " + types_.value(n.var->type) + " " + names_.of(n.var.get(), n.var->name) +
               " = " + value + ";");
          scopes_.enter();
          scopes_.define(n.var);
          stmt(n.body);
          scopes_.leave();
          names_.forget(
              n.var.get());  // a copy of the statement may follow, between the same braces
        },
        [&](const ir::Barrier&) { line("barrier(CLK_LOCAL_MEM_FENCE);"); },
        [&](const ir::TileCall& n) {
          expressions_.fail(std::string("OpenCL C has no instruction for ") + n.row->name);
        },
        [&](const ir::OneOf<ir::AsyncCopies, ir::AwaitCopies> auto&) {
          expressions_.fail("OpenCL C has no copies beside the threads");
        });
  }

  void definitions() {
    for (const std::string& each : expressions_.lines) line(each);
    expressions_.lines.clear();
  }

  void within(const std::string& opening, const ir::Stmt& body,
              const ir::Stmt& otherwise = nullptr) {
    scopes_.open(opening);
    block(body);
    if (otherwise) {
      scopes_.leave();
      scopes_.open("} else {");
      block(otherwise);
    }
    scopes_.close();
  }

  // What it declares is visible in it only.
  void block(const ir::Stmt& body) {
    const auto outside = visible_;
    stmt(body);
    visible_ = outside;
  }

  void loop(const ir::For& n) {
    const std::int64_t *low = ir::as_int(n.min), *extent = ir::as_int(n.extent);
    if (low && extent) expressions_.ranges[n.var] = {*low, *low + *extent - 1};
    if (n.kind == ir::ForKind::Bound) return bound(n, low, extent);
    if (n.kind != ir::ForKind::Serial) {
      return expressions_.fail("loop " + n.var->name + " is not serial after lowering");
    }
    expressions_.begin(ir::make_block({}));
    const std::string from = expressions_.value(n.min).text,
                      to = expressions_.index(n.min + n.extent);
    definitions();
    const std::string name = names_.of(n.var.get(), n.var->name);
    scopes_.open("for (int " + name + " = " + from + "; " + name + " < " + to + "; ++" + name +
                 ") {");
    scopes_.define(n.var);
    block(n.body);
    scopes_.close();
  }

  // All iterations at once. Where the launch has more, the others do nothing.
  void bound(const ir::For& n, const std::int64_t* low, const std::int64_t* extent) {
    if (!low || *low != 0 || !extent || n.axis == ir::ThreadAxis::None) {
      return expressions_.fail("bound loop " + n.var->name +
                               " does not begin at 0, or has no extent");
    }
    names_.set(n.var.get(), axes_[n.axis]);
    scopes_.define_outermost(n.var);
    if (*extent >= shape_.along(n.axis)) return stmt(n.body);
    if (lower::has_barrier(n.body)) {
      return expressions_.fail("a barrier that not all threads come to");
    }
    within("if (" + axes_[n.axis] + " < " + std::to_string(*extent) + ") {", n.body);
  }

  void store(const ir::Stmt& s, const ir::Store& n) {
    if (n.indices.size() != 1) {
      return expressions_.fail("a store to " + n.buffer->name + " has not one flat index");
    }
    expressions_.begin(s);
    const ir::Expr on = expressions_.condition(n.predicate);
    const bool by_lane = on && on->type.lanes > 1;
    const std::string value = stored_value(n);
    const std::string guard = on && !by_lane ? expressions_.value(on).text : "";
    std::vector<std::string> writes;
    if (auto whole = by_lane ? std::string() : stored_whole(n, value); !whole.empty()) {
      writes.push_back(std::move(whole));
    } else {
      writes = stored_by_lane(n, value, by_lane ? on : nullptr);
    }
    definitions();
    if (guard.empty()) {
      for (const std::string& each : writes) line(each);
    } else {
      scopes_.open("if (" + guard + ") {");
      for (const std::string& each : writes) line(each);
      scopes_.close();
    }
  }

  // What vstore_half rounds need not be rounded before.
  std::string stored_value(const ir::Store& n) {
    const auto* cast = std::get_if<ir::Cast>(&n.value->node);
    if (expressions_.by_call(n.buffer, n.value->type) && cast &&
        cast->value->type.scalar == ir::Scalar::Float32) {
      return expressions_.value(cast->value).text;
    }
    return expressions_.value(n.value).text;
  }

  // "": only lane by lane.
  std::string stored_whole(const ir::Store& n, const std::string& value) {
    const Array to = expressions_.array(n.buffer);
    const int lanes = n.value->type.lanes;
    if (lanes == 1) return stored_element(n, value, n.indices[0]);
    if (to.lanes == lanes) {
      const auto at = expressions_.vector_index(n.indices[0], lanes);
      if (at) return to.name + (to.only_one ? "" : "[" + *at + "]") + " = " + value + ";";
    }
    const auto form = ir::strided_lanes(n.indices[0]);
    if (!form || form->stride != 1 || to.lanes != 1 || n.value->type.is_bool()) return "";
    return std::string(expressions_.by_call(n.buffer, n.value->type) ? "vstore_half" : "vstore") +
           std::to_string(lanes) + "(" + value + ", 0, " + expressions_.address(to, form->base) +
           ");";
  }

  std::string stored_element(const ir::Store& n, const std::string& value, const ir::Expr& at) {
    const Array to = expressions_.array(n.buffer);
    const std::string place = expressions_.place(at, to.name);
    if (expressions_.by_call(n.buffer, n.value->type)) {
      return "vstore_half(" + value + ", " + place + ", " + to.pointer() + ");";
    }
    return to.name + (to.only_one ? "" : "[" + place + "]") + " = " + value + ";";
  }

  std::vector<std::string> stored_by_lane(const ir::Store& n, const std::string& value,
                                          const ir::Expr& on) {
    const std::string all = names_.fresh("t");
    expressions_.lines.push_back("const " + types_.value(n.value->type) + " " + all + " = " +
                                 value + ";");
    std::vector<std::string> writes;
    for (int lane = 0; lane < n.value->type.lanes; ++lane) {
      const ir::Expr at = lane_of(n.indices[0], lane), alone = on ? lane_of(on, lane) : nullptr;
      if (!at || (on && !alone)) {
        expressions_.fail("an index of " + n.buffer->name + " that has no lanes");
        return {};
      }
      const std::string write = stored_element(n, all + "." + component(lane), at);
      writes.push_back(alone ? "if (" + expressions_.value(alone).text + ") " + write : write);
    }
    return writes;
  }

  const ir::Function& function_;
  Types types_;
  lower::LaunchShape shape_;
  Names names_;
  Scopes scopes_;
  Expressions expressions_;
  std::map<ir::ThreadAxis, std::string> axes_;
  std::set<const ir::BufferDecl*> visible_;  // arrays of a thread, where the text is
};

// How a device that has one of these extensions adds products of bytes; the first of them counts.
struct DotRow {
  const char* extension;
  Dot* dot;
};
constexpr DotRow kDots[] = {
    {"cl_arm_integer_dot_product_accumulate_int8",
     [](const std::string& a, const std::string& b, const std::string& sum) {
       return "arm_dot_acc(as_char4(" + a + "), as_char4(" + b + "), " + sum + ")";
     }},
    // Its sums that saturate are others than ours, which wrap.
    {"cl_khr_integer_dot_product",
     [](const std::string& a, const std::string& b, const std::string& sum) {
       return "((" + sum + ") + dot_4x8packed_ss_int(as_uint(" + a + "), as_uint(" + b + ")))";
     }},
};

const DotRow* dot_of(const space::GpuTarget& target) {
  for (const DotRow& row : kDots) {
    if (std::ranges::count(target.extensions, row.extension) > 0) return &row;
  }
  return nullptr;
}

}  // namespace

Result<std::string> make_source(const ir::Module& module, const space::GpuTarget& target) {
  const Types types{target.half};
  const DotRow* dot = dot_of(target);
  std::string kernels;
  Helpers helpers;
  for (const ir::Function& function : module.functions) {
    Kernel kernel(function, types, dot ? dot->dot : nullptr);
    Result<std::string> text = kernel.text();
    if (!text) return text;
    kernels += (kernels.empty() ? "" : "\n") + *text;
    helpers.add(kernel.helpers());
  }
  std::string head = "// OpenCL C 1.2, written by fettle\n";
  if (target.half) head += "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n";
  if (dot) head += std::string("#pragma OPENCL EXTENSION ") + dot->extension + " : enable\n";
  head += "\n";
  return head + helpers.text() + kernels;
}

}  // namespace fettle::backend::opencl_c
