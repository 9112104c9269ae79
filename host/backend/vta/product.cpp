// Axes of products and how they move through buffers (product.h).
#include "host/backend/vta/product.h"

#include <algorithm>
#include <optional>

#include "host/backend/vta/tail.h"
#include "host/ir/affine.h"
#include "host/space/axis_roles.h"

namespace fettle::vta::host {
namespace {

using space::AxisRole;
using space::Stage;

Error unsupported(const std::string& why) {
  return {ErrorCode::Unsupported, "the VTA accelerator " + why};
}

std::string blocks(const Design& design) {
  return std::to_string(design.block_in) + "x" + std::to_string(design.block_out);
}

// The stage that sums; null: there is not exactly one.
const Stage* the_sum(const space::ComputeDag& dag) {
  const Stage* found = nullptr;
  for (const Stage& stage : dag.stages) {
    if (stage.reduce_axes.empty()) continue;
    if (found) return nullptr;
    found = &stage;
  }
  return found;
}

// Elements, of `lanes` numbers each, from one index of dimension `d` to the next.
std::int64_t stride_of(const ir::Buffer& buffer, std::size_t d, std::int64_t lanes) {
  std::int64_t stride = 1;
  for (std::size_t inner = d + 1; inner < buffer->shape.size(); ++inner) {
    stride *= buffer->shape[inner];
  }
  return stride / lanes;
}

const ir::Var* sole_var(const ir::Expr& index) {
  const auto* ref = std::get_if<ir::VarRef>(&index->node);
  return ref ? &ref->var : nullptr;
}

// A copy of an input with zeros around: the input's places in it.
struct Padding {
  ir::Buffer source;
  std::vector<std::int64_t> before;  // of each dimension
};

std::optional<Padding> padding_of(const space::ComputeDag& dag, const Stage& stage) {
  if (stage.placeholder()) {
    return Padding{stage.buffer, std::vector<std::int64_t>(stage.axes.size(), 0)};
  }
  const auto* load = std::get_if<ir::Load>(&stage.body->node);
  if (!load || !stage.store_at.empty() || load->indices.size() != stage.axes.size()) return {};
  if (!dag.find(load->buffer)->placeholder()) return {};
  Padding padding{load->buffer, {}};
  for (std::size_t d = 0; d < stage.axes.size(); ++d) {
    const auto form = ir::affine_of(load->indices[d]);
    if (!form || form->terms.size() != 1 || form->constant > 0 ||
        form->terms[0] != std::pair{stage.axes[d].var, std::int64_t{1}}) {
      return {};
    }
    padding.before.push_back(-form->constant);
  }
  return padding;
}

class Finder {
 public:
  Finder(const space::ComputeDag& dag, const Design& design, const Stage& sum)
      : dag_(dag), design_(design), sum_(sum) {}

  Result<Product> find() {
    const auto roles = space::roles_of(dag_, sum_);
    if (!roles || !roles->second || !is_int8(*roles->first) || !is_int8(*roles->second)) {
      return unsupported("sums products of int8 alone: " + sum_.name + " is something else");
    }
    roles_ = &*roles;
    if (!lanes()) {
      return unsupported("multiplies in blocks of " + blocks(design_) +
                         " channels, with both innermost in the weights, as layout NCHW1n16c "
                         "has them: " +
                         sum_.name + " has none");
    }
    if (auto axes = read_axes(); !axes) return std::move(axes).error();
    if (auto inputs = read_inputs(); !inputs) return std::move(inputs).error();
    if (auto weights = read_weights(); !weights) return std::move(weights).error();
    if (auto tail = read_tail(dag_, sum_, out_axis_, design_, product_); !tail)
      return std::move(tail).error();
    place();
    return std::move(product_);
  }

 private:
  static bool is_int8(const ir::Load& load) {
    return load.buffer->type.scalar == ir::Scalar::Int8 && !load.predicate;
  }

  // The innermost axes are GEMM's.
  bool lanes() const {
    const auto& first = roles_->first->indices;
    const auto& second = roles_->second->indices;
    if (design_.batch != 1 || second.size() < 2 || !sum_.store_at.empty()) return false;
    const ir::Var *in = sole_var(first.back()), *same = sole_var(second.back()),
                  *out = sole_var(second[second.size() - 2]);
    const space::Axis &inner = sum_.reduce_axes.back(), &lane = sum_.axes.back();
    return in && same && out && *in == inner.var && *same == inner.var && *out == lane.var &&
           inner.extent == design_.block_in && lane.extent == design_.block_out &&
           roles_->first->buffer->shape.back() == design_.block_in &&
           roles_->second->buffer->shape.back() == design_.block_in &&
           roles_->second->buffer->shape[second.size() - 2] == design_.block_out;
  }

  // Which axis of the product each of the sum's is.
  Result<void> read_axes() {
    for (std::size_t i = 0; i + 1 < sum_.axes.size(); ++i) {
      const space::Axis& axis = sum_.axes[i];
      if (roles_->axes[i] == AxisRole::Spatial) {
        spatial_.push_back({axis.name, axis.extent});
        spatial_vars_.push_back(axis.var);
      } else if (roles_->axes[i] == AxisRole::Channel && !out_) {
        out_ = axis.var;
        out_axis_ = i;
        product_.out.extent = axis.extent;
      } else {
        return unsupported("has no groups or batches of weights: axis " + axis.name);
      }
    }
    for (std::size_t i = 0; i + 1 < sum_.reduce_axes.size(); ++i) {
      const space::Axis& axis = sum_.reduce_axes[i];
      if (roles_->reduce_axes[i] == AxisRole::Window) continue;
      if (in_) return unsupported("sums over one axis of blocks beside windows: " + axis.name);
      in_ = axis.var;
      product_.in.extent = axis.extent;
    }
    for (const space::WindowPair& pair : roles_->windows) {
      const auto at =
          std::find(spatial_vars_.begin(), spatial_vars_.end(), sum_.axes[pair.axis].var);
      if (at == spatial_vars_.end()) return unsupported("slides windows over images alone");
      SpatialAxis& axis = spatial_[static_cast<std::size_t>(at - spatial_vars_.begin())];
      axis.window = sum_.reduce_axes[pair.window].extent;
      axis.step = pair.stride;
      axis.dilation = pair.dilation;
      windows_.emplace_back(sum_.reduce_axes[pair.window].var, &axis);
    }
    return {};
  }

  SpatialAxis* spatial(const ir::Var& var) {
    const auto at = std::find(spatial_vars_.begin(), spatial_vars_.end(), var);
    return at == spatial_vars_.end()
               ? nullptr
               : &spatial_[static_cast<std::size_t>(at - spatial_vars_.begin())];
  }

  // One dimension moves with one axis (and its window).
  Result<void> read_inputs() {
    const ir::Load& load = *roles_->first;
    const auto padding = padding_of(dag_, *dag_.find(load.buffer));
    if (!padding) return unsupported("loads inputs as they are, with zeros around at most");
    const auto no = [&](std::size_t d) {
      return unsupported("cannot load " + load.buffer->name + " along dimension " +
                         std::to_string(d));
    };
    for (std::size_t d = 0; d + 1 < load.indices.size(); ++d) {
      const auto form = ir::affine_of(load.indices[d]);
      if (!form || form->constant != 0) return no(d);
      const std::int64_t stride = stride_of(padding->source, d, design_.block_in);
      SpatialAxis* moving = nullptr;
      for (const auto& [var, coefficient] : form->terms) {
        if (SpatialAxis* axis = spatial(var)) {
          if (moving || axis->input_stride != 0 || coefficient < 1) return no(d);
          moving = axis;
          axis->step = coefficient;
          axis->input_stride = stride;
          axis->before = padding->before[d];
          axis->source = padding->source->shape[d];
        } else if (in_ && var == in_) {
          if (form->terms.size() != 1 || coefficient != 1 || product_.in.input_stride != 0) {
            return no(d);
          }
          product_.in.input_stride = stride;
        } else if (std::none_of(windows_.begin(), windows_.end(),
                                [&](const auto& window) { return window.first == var; })) {
          return no(d);
        }
      }
      if (!moving && padding->before[d] != 0) return no(d);
    }
    const Stage& source = *dag_.find(padding->source);
    product_.input = product_.buffers.size();
    product_.buffers.push_back({source.buffer, source.role, source.fill});
    return {};
  }

  Result<void> read_weights() {
    const ir::Load& load = *roles_->second;
    const Stage& stage = *dag_.find(load.buffer);
    if (!stage.placeholder()) return unsupported("loads weights as they are");
    for (std::size_t d = 0; d + 2 < load.indices.size(); ++d) {
      const std::int64_t* fixed = ir::as_int(load.indices[d]);
      if (fixed && *fixed == 0) continue;
      const ir::Var* var = sole_var(load.indices[d]);
      const auto window = std::find_if(windows_.begin(), windows_.end(),
                                       [&](const auto& each) { return var && each.first == *var; });
      std::int64_t* stride = !var                       ? nullptr
                             : out_ && *var == out_     ? &product_.out.weight_stride
                             : in_ && *var == in_       ? &product_.in.weight_stride
                             : window != windows_.end() ? &window->second->weight_stride
                                                        : nullptr;
      if (!stride || *stride != 0) {
        return unsupported("cannot load " + load.buffer->name + " along dimension " +
                           std::to_string(d));
      }
      *stride = stride_of(load.buffer, d, std::int64_t{design_.block_in} * design_.block_out);
    }
    product_.weights = product_.buffers.size();
    product_.buffers.push_back({stage.buffer, stage.role, stage.fill});
    return {};
  }

  // Output strides, and which spatial axes are rows and columns.
  void place() {
    const ir::Buffer& output = product_.buffers[product_.output].buffer;
    for (std::size_t i = 0; i + 1 < sum_.axes.size(); ++i) {
      const std::int64_t stride = stride_of(output, i, design_.block_out);
      if (SpatialAxis* axis = spatial(sum_.axes[i].var)) {
        axis->output_stride = stride;
      } else {
        product_.out.output_stride = stride;
      }
    }
    if (!spatial_.empty()) product_.columns = spatial_.back();
    if (spatial_.size() > 1) product_.rows = spatial_[spatial_.size() - 2];
    for (std::size_t i = 0; i + 2 < spatial_.size(); ++i) product_.outer.push_back(spatial_[i]);
  }

  const space::ComputeDag& dag_;
  const Design& design_;
  const Stage& sum_;
  const space::AxisRoles* roles_ = nullptr;
  std::vector<SpatialAxis> spatial_;
  std::vector<ir::Var> spatial_vars_;
  std::vector<std::pair<ir::Var, SpatialAxis*>> windows_;
  ir::Var in_, out_;  // blocks of channels; null: there is no such axis
  std::optional<std::size_t> out_axis_;
  Product product_;
};

// What a LOAD's own padding can do.
Result<void> check_padding(const Product& product) {
  constexpr std::int64_t kMostPadding = 15;
  for (const SpatialAxis& axis : product.outer) {
    if (axis.window != 1 || axis.before != 0) {
      return unsupported("slides windows over two axes: not over " + axis.name);
    }
  }
  // The two dimensions of a LOAD that pad are its innermost ones.
  const bool innermost =
      product.columns.input_stride == 1 &&
      (product.in.extent == 1 || product.in.input_stride >= product.rows.input_stride);
  for (const SpatialAxis* axis : {&product.rows, &product.columns}) {
    const std::int64_t behind =
        (axis->extent - 1) * axis->step + axis->reach() - axis->before - axis->source;
    const std::int64_t most = std::max(axis->before, behind);
    if (most <= 0) continue;
    if (most > kMostPadding || most >= axis->reach()) {
      return unsupported("pads by 15 at most, and by less than a window: not so along " +
                         axis->name);
    }
    if (!innermost) return unsupported("pads along the innermost two axes of an image");
  }
  return {};
}

}  // namespace

std::int64_t Product::outputs() const {
  std::int64_t count = rows.extent * columns.extent * out.extent;
  for (const SpatialAxis& axis : outer) count *= axis.extent;
  return count;
}

std::int64_t Product::products() const {
  return outputs() * in.extent * rows.window * columns.window;
}

Result<Product> product_of(const space::ComputeDag& dag, const Design& design) {
  const Stage* sum = the_sum(dag);
  if (!sum) return unsupported("computes one sum of products with a tail, and nothing else");
  auto product = Finder(dag, design, *sum).find();
  if (!product) return product;
  if (auto checked = check_padding(*product); !checked) return std::move(checked).error();
  return product;
}

}  // namespace fettle::vta::host
