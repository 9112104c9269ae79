// Elementwise stages as steps of the ALU (tail.h).
#include "host/backend/vta/tail.h"

#include <algorithm>
#include <limits>

#include "host/ir/affine.h"

namespace fettle::vta::host {
namespace {

using space::Stage;
using Kind = TailStep::Kind;

constexpr std::int64_t kLeast = std::numeric_limits<std::int16_t>::min(),
                       kMost = std::numeric_limits<std::int16_t>::max();
constexpr std::int64_t kMostShift = 15;  // to the right, by 5 bits with a sign

Error unsupported(const std::string& why) {
  return {ErrorCode::Unsupported, "the VTA accelerator " + why};
}

const ir::Expr& unwidened(const ir::Expr& value) {
  const auto* wide = std::get_if<ir::Cast>(&value->node);
  return wide && value->type == ir::kInt32 ? wide->value : value;
}

class TailReader {
 public:
  TailReader(const space::ComputeDag& dag, const Stage& sum, std::optional<std::size_t> out_axis,
             const Design& design, Product& product)
      : dag_(dag), out_axis_(out_axis), design_(design), product_(product), at_(&sum) {}

  Result<void> read() {
    for (const Stage& stage : dag_.stages) {
      if (stage.placeholder() || &stage <= at_) continue;
      before_ = at_;
      at_ = &stage;
      narrowed_ = false;
      if (!stage.store_at.empty() || !same_shape(*before_, stage) || !value(stage.body)) {
        return unsupported("cannot compute " + stage.name +
                           ": beside sums it adds, shifts right, "
                           "takes minima and maxima with constants, and casts to int8 at the end");
      }
    }
    if (at_->role != ir::Role::Output || at_->buffer->type.scalar != ir::Scalar::Int8) {
      return unsupported("stores int8: the output " + at_->name + " is none (\"cast int8\")");
    }
    if (auto fit = split(); !fit) return fit;
    product_.output = product_.buffers.size();
    product_.buffers.push_back({at_->buffer, at_->role, at_->fill});
    return {};
  }

 private:
  static bool same_shape(const Stage& a, const Stage& b) {
    return a.buffer->shape == b.buffer->shape;
  }

  // Whether the load is at the stage's own axes, in their order.
  bool at_axes(const ir::Load& load) const {
    if (load.predicate || load.indices.size() != at_->axes.size()) return false;
    for (std::size_t d = 0; d < load.indices.size(); ++d) {
      const auto* ref = std::get_if<ir::VarRef>(&load.indices[d]->node);
      if (!ref || ref->var != at_->axes[d].var) return false;
    }
    return true;
  }

  // False: the accelerator has no such operation.
  bool value(const ir::Expr& e) {
    if (const auto* load = std::get_if<ir::Load>(&e->node)) {
      return load->buffer == before_->buffer && at_axes(*load);
    }
    if (const auto* cast = std::get_if<ir::Cast>(&e->node)) {
      // What is stored is the low bits.
      if (e->type.scalar != ir::Scalar::Int8 || at_->role != ir::Role::Output || narrowed_) {
        return false;
      }
      narrowed_ = true;
      return value(cast->value);
    }
    const auto* n = std::get_if<ir::Binary>(&e->node);
    if (!n || e->type != ir::kInt32) return false;
    const bool first = reads_before(n->a);
    const ir::Expr &chain = first ? n->a : n->b, &other = first ? n->b : n->a;
    if (!reads_before(chain) || reads_before(other)) return false;
    if (n->op == ir::BinaryOp::Add && !ir::as_int(other)) return value(chain) && addend(other);
    const std::int64_t* constant = ir::as_int(other);
    if (!constant || !value(chain)) return false;
    switch (n->op) {
      case ir::BinaryOp::Add:
        return step(AluOp::Add, *constant);
      case ir::BinaryOp::Sub:
        return first && step(AluOp::Add, -*constant);
      case ir::BinaryOp::Max:
        return step(AluOp::Max, *constant);
      case ir::BinaryOp::Min:
        return step(AluOp::Min, *constant);
      case ir::BinaryOp::ShiftRight:
        return first && *constant >= 0 && *constant < 32 && step(AluOp::ShiftRight, *constant);
      default:
        return false;
    }
  }

  bool reads_before(const ir::Expr& e) const {
    if (const auto* load = std::get_if<ir::Load>(&e->node)) return load->buffer == before_->buffer;
    if (const auto* cast = std::get_if<ir::Cast>(&e->node)) return reads_before(cast->value);
    const auto* n = std::get_if<ir::Binary>(&e->node);
    return n && (reads_before(n->a) || reads_before(n->b));
  }

  bool step(AluOp op, std::int64_t by) {
    product_.tail.push_back({Kind::Immediate, op, by, 0});
    return true;
  }

  // Another tensor that is added: int8 of the same shape, or an int32 for each channel.
  bool addend(const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&unwidened(e)->node);
    const Stage* from = load ? dag_.find(load->buffer) : nullptr;
    if (!from || !from->placeholder() || load->predicate) return false;
    const ir::Scalar type = load->buffer->type.scalar;
    TailStep added{Kind::AddElement, AluOp::Add, 0, product_.buffers.size()};
    if (type == ir::Scalar::Int8) {
      if (!at_axes(*load) || load->buffer->shape != at_->buffer->shape ||
          design_.block_in != design_.block_out) {
        return false;
      }
    } else if (type == ir::Scalar::Int32) {
      added.kind = Kind::AddChannel;
      if (!per_channel(*load)) return false;
    } else {
      return false;
    }
    product_.buffers.push_back({from->buffer, from->role, from->fill});
    product_.tail.push_back(added);
    return true;
  }

  // [blocks][in block], or [in block] where there is one block.
  bool per_channel(const ir::Load& load) const {
    const auto is_axis = [&](std::size_t d, std::size_t axis) {
      const auto* ref = std::get_if<ir::VarRef>(&load.indices[d]->node);
      return ref && ref->var == at_->axes[axis].var &&
             load.buffer->shape[d] == at_->axes[axis].extent;
    };
    const std::size_t lane = at_->axes.size() - 1;
    if (load.indices.empty() || !is_axis(load.indices.size() - 1, lane)) return false;
    if (load.indices.size() == 1) return !out_axis_;
    return load.indices.size() == 2 && out_axis_ && is_axis(0, *out_axis_);
  }

  // Constants that come first become the sums' beginning; others are cut to fit their field.
  Result<void> split() {
    std::vector<TailStep> whole = std::move(product_.tail);
    product_.tail.clear();
    bool adds_only = true;
    for (const TailStep& each : whole) {
      adds_only = adds_only && (each.kind != Kind::Immediate || each.op == AluOp::Add);
      if (each.kind != Kind::Immediate) {
        product_.tail.push_back(each);
      } else if (adds_only) {
        product_.initial += each.value;
      } else if (each.op == AluOp::Add || each.op == AluOp::ShiftRight) {
        const std::int64_t most = each.op == AluOp::Add ? kMost : kMostShift;
        for (std::int64_t left = each.value; left != 0;) {
          const std::int64_t part = std::clamp(left, kLeast, most);
          product_.tail.push_back({Kind::Immediate, each.op, part, 0});
          left -= part;
          if (product_.tail.size() > kMostSteps) return too_long();
        }
      } else if (each.value < kLeast || each.value > kMost) {
        return unsupported("compares with constants of 16 bits: not with " +
                           std::to_string(each.value));
      } else {
        product_.tail.push_back(each);
      }
    }
    if (std::abs(product_.initial) > kMost * 8) return too_long();
    return {};
  }

  static constexpr std::size_t kMostSteps = 32;
  static Error too_long() {
    return unsupported("adds constants of 16 bits: this tail has larger ones");
  }

  const space::ComputeDag& dag_;
  std::optional<std::size_t> out_axis_;
  const Design& design_;
  Product& product_;
  const Stage *at_, *before_ = nullptr;
  bool narrowed_ = false;
};

}  // namespace

Result<void> read_tail(const space::ComputeDag& dag, const Stage& sum,
                       std::optional<std::size_t> out_axis, const Design& design,
                       Product& product) {
  return TailReader(dag, sum, out_axis, design, product).read();
}

}  // namespace fettle::vta::host
