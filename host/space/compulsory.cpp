// Compulsory bytes (compulsory.h): from the output backwards, which elements of each stage
// are needed, as a set of places along each of its dimensions.
#include "host/space/compulsory.h"

#include <algorithm>
#include <map>
#include <optional>

#include "host/ir/affine.h"
#include "host/ir/equal.h"
#include "host/ir/visit.h"

namespace fettle::space {

namespace {

// Integers as ascending intervals that do not touch.
using Places = std::vector<ir::Interval>;
// Of a tensor: every combination of one place of each dimension.
using Box = std::vector<Places>;
using AxisValues = std::map<ir::Var, Places>;

constexpr std::size_t kMostPieces = 1 << 20;  // of a set: beyond, nothing is known

Places up_to(std::int64_t extent) { return {{0, extent - 1}}; }

Places merged(Places pieces) {
  std::sort(pieces.begin(), pieces.end(), [](auto& a, auto& b) { return a.low < b.low; });
  Places out;
  for (const ir::Interval& piece : pieces) {
    if (!out.empty() && piece.low <= out.back().high + 1) {
      out.back().high = std::max(out.back().high, piece.high);
    } else {
      out.push_back(piece);
    }
  }
  return out;
}

std::int64_t count(const Places& places) {
  std::int64_t sum = 0;
  for (const ir::Interval& piece : places) sum += piece.high - piece.low + 1;
  return sum;
}

double count(const Box& box) {
  double product = 1;
  for (const Places& places : box) product *= double(count(places));
  return product;
}

Places common(const Places& a, const Places& b) {
  Places out;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const ir::Interval both{std::max(a[i].low, b[j].low), std::min(a[i].high, b[j].high)};
    if (both.low <= both.high) out.push_back(both);
    a[i].high < b[j].high ? ++i : ++j;
  }
  return out;
}

bool within(const Places& a, const Places& b) { return count(common(a, b)) == count(a); }

// The values of a linear form; its variables move independently. Empty: not known.
Places values_of(const ir::Affine& form, const AxisValues& axes) {
  Places sum{{form.constant, form.constant}};
  for (const auto& [var, c] : form.terms) {
    const auto axis = axes.find(var);
    if (axis == axes.end()) return {};
    Places scaled;
    for (const ir::Interval& piece : axis->second) {
      if (c == 1) {
        scaled.push_back(piece);
        continue;
      }
      if (std::size_t(piece.high - piece.low) >= kMostPieces - scaled.size()) return {};
      for (std::int64_t v = piece.low; v <= piece.high; ++v) scaled.push_back({c * v, c * v});
    }
    scaled = merged(std::move(scaled));
    if (sum.size() * scaled.size() > kMostPieces) return {};
    Places moved;
    for (const ir::Interval& a : sum) {
      for (const ir::Interval& b : scaled) moved.push_back({a.low + b.low, a.high + b.high});
    }
    sum = merged(std::move(moved));
  }
  return sum;
}

// The load's indices, where no axis moves two of them.
std::optional<std::vector<ir::Affine>> forms_of(const ir::Load& load) {
  std::vector<ir::Affine> forms;
  for (const ir::Expr& index : load.indices) {
    auto form = ir::affine_of(index);
    if (!form) return std::nullopt;
    for (const ir::Affine& other : forms) {
      for (const auto& [var, c] : form->terms) {
        if (other.coefficient(var) != 0) return std::nullopt;
      }
    }
    forms.push_back(std::move(*form));
  }
  return forms;
}

// Whether the condition says no more than that the load is inside its buffer. Null: true.
bool only_inside(const ir::Expr& condition, const ir::Load& load) {
  if (!condition || ir::as_int(condition)) return !condition || *ir::as_int(condition) != 0;
  const auto* n = std::get_if<ir::Binary>(&condition->node);
  if (!n) return false;
  if (n->op == ir::BinaryOp::And) return only_inside(n->a, load) && only_inside(n->b, load);
  for (std::size_t d = 0; d < load.indices.size(); ++d) {
    const std::int64_t *low = ir::as_int(n->a), *high = ir::as_int(n->b);
    if (n->op == ir::BinaryOp::Le && low && *low == 0 && ir::equal(n->b, load.indices[d])) {
      return true;
    }
    if (n->op == ir::BinaryOp::Lt && high && *high == load.buffer->shape[d] &&
        ir::equal(n->a, load.indices[d])) {
      return true;
    }
  }
  return false;
}

class Needs {
 public:
  explicit Needs(const ComputeDag& dag) : dag_(dag) {}

  double bytes() {
    double sum = 0;
    for (auto stage = dag_.stages.rbegin(); stage != dag_.stages.rend(); ++stage) {
      if (stage->role == ir::Role::Output) needed_[stage->name] = whole(*stage);
      const auto needed = needed_.find(stage->name);
      if (needed == needed_.end()) continue;
      if (stage->placeholder() || stage->role == ir::Role::Output) {
        sum += count(needed->second) * stage->buffer->type.bytes();
      }
      if (!stage->placeholder()) read_by(*stage, needed->second);
    }
    return sum;
  }

 private:
  static Box whole(const Stage& stage) {
    Box box;
    for (const std::int64_t extent : stage.buffer->shape) box.push_back(up_to(extent));
    return box;
  }

  // What is not padding of a stage that copies another one; all of any other stage. Empty:
  // not known.
  Box filled(const Stage& stage) const {
    if (stage.placeholder()) return whole(stage);
    const auto* load = std::get_if<ir::Load>(&stage.body->node);
    if (!load || !load->predicate) return whole(stage);
    const auto forms = forms_of(*load);
    if (!forms || !only_inside(load->predicate, *load)) return {};
    if (!dag_.find(load->buffer)->placeholder()) return {};
    Box box = whole(stage);
    for (std::size_t d = 0; d < stage.axes.size(); ++d) {
      for (std::size_t from = 0; from < forms->size(); ++from) {
        const ir::Affine& form = (*forms)[from];
        if (form.coefficient(stage.axes[d].var) == 0) continue;
        if (form.terms.size() != 1 || form.terms[0].second != 1) return {};
        const std::int64_t begin = -form.constant;
        box[d] = common(box[d], {{begin, begin + load->buffer->shape[from] - 1}});
      }
    }
    return box;
  }

  // Values of a sum's reduction axes with which this factor is not always padding. False:
  // not known.
  bool keep_filled(const ir::Load& factor, const Stage& sum, AxisValues& axes) const {
    const Box box = filled(*dag_.find(factor.buffer));
    const auto forms = forms_of(factor);
    if (!forms || box.size() != forms->size()) return false;
    for (std::size_t d = 0; d < box.size(); ++d) {
      const Places all = values_of((*forms)[d], axes);
      if (all.empty()) return false;
      if (within(all, box[d])) continue;
      const Axis* moving = nullptr;
      for (const Axis& axis : sum.reduce_axes) {
        if ((*forms)[d].coefficient(axis.var) == 0) continue;
        if (moving) return false;  // not independent of each other
        moving = &axis;
      }
      if (!moving && common(all, box[d]).empty()) return false;
      if (!moving) continue;  // some outputs are 0; others need all that is summed
      Places useful;
      for (std::int64_t v = 0; v < moving->extent; ++v) {
        AxisValues one = axes;
        one[moving->var] = {{v, v}};
        if (!common(values_of((*forms)[d], one), box[d]).empty()) useful.push_back({v, v});
      }
      axes[moving->var] = merged(std::move(useful));
    }
    return true;
  }

  // The axes' values that are stored at needed places, where each dimension is an axis or is
  // cut into blocks by two: those of blocks that are needed whole. False: another form.
  static bool unstored(const Stage& stage, const Box& needed, AxisValues& axes) {
    for (const Axis& axis : stage.axes) axes[axis.var] = up_to(axis.extent);
    for (std::size_t d = 0; d < needed.size(); ++d) {
      const auto form = ir::affine_of(stage.store_at[d]);
      if (!form || form->constant != 0 || form->terms.empty() || form->terms.size() > 2) {
        return false;
      }
      auto [outer, block] = form->terms.front();
      std::int64_t inside = 1;
      if (form->terms.size() == 2) {
        const auto& [inner, step] = form->terms.back();
        inside = axes.at(inner).back().high + 1;
        if (step != 1) return false;
      }
      if (block != inside) return false;
      Places values;
      for (const ir::Interval& piece : needed[d]) {
        const std::int64_t begin = (piece.low + block - 1) / block, end = (piece.high + 1) / block;
        if (begin < end) values.push_back({begin, end - 1});
      }
      axes[outer] = std::move(values);
    }
    return true;
  }

  void read_by(const Stage& stage, const Box& needed) {
    AxisValues axes;
    if (!stage.store_at.empty() && !unstored(stage, needed, axes)) return;
    for (std::size_t d = 0; d < stage.axes.size() && stage.store_at.empty(); ++d) {
      axes[stage.axes[d].var] = needed[d];
    }
    for (const Axis& axis : stage.reduce_axes) axes[axis.var] = up_to(axis.extent);
    const auto* product = std::get_if<ir::Binary>(&stage.body->node);
    if (!product || product->op != ir::BinaryOp::Mul || stage.reduce_axes.empty()) {
      return read(stage.body, nullptr, axes);
    }
    const auto factor = [](const ir::Expr& e) {
      const auto* wide = std::get_if<ir::Cast>(&e->node);
      return std::get_if<ir::Load>(&(wide ? wide->value : e)->node);
    };
    for (const auto& [mine, other] :
         {std::pair{product->a, product->b}, {product->b, product->a}}) {
      AxisValues useful = axes;
      const ir::Load* load = factor(other);
      if (load && keep_filled(*load, stage, useful)) read(mine, nullptr, useful);
    }
  }

  // condition: of a choice around the expression; null: none.
  void read(const ir::Expr& e, const ir::Expr& condition, const AxisValues& axes) {
    ir::visit(
        e,
        [&](const ir::Load& load) {
          const auto forms = forms_of(load);
          if (!forms || !only_inside(load.predicate, load) || !only_inside(condition, load)) return;
          Box box;
          for (std::size_t d = 0; d < forms->size(); ++d) {
            box.push_back(common(values_of((*forms)[d], axes), up_to(load.buffer->shape[d])));
          }
          Box& most = needed_[dag_.find(load.buffer)->name];
          if (most.empty() || count(box) > count(most)) most = std::move(box);
        },
        [&](const ir::Select& n) {
          read(n.condition, condition, axes);
          if (!condition) read(n.then_value, n.condition, axes);
        },
        [&](const ir::Binary& n) { read(n.a, condition, axes), read(n.b, condition, axes); },
        [&](const ir::Unary& n) { read(n.a, condition, axes); },
        [&](const ir::OneOf<ir::Cast, ir::Reinterpret> auto& n) { read(n.value, condition, axes); },
        [](const ir::OneOf<ir::IntImm, ir::FloatImm, ir::VarRef> auto&) {},
        // What lowering makes: a DAG that an operator writes has none.
        [](const ir::OneOf<ir::MulAdd, ir::Intrinsic, ir::Ramp, ir::Broadcast> auto&) {});
  }

  const ComputeDag& dag_;
  std::map<std::string, Box> needed_;  // by stage; of several readers the one that needs most
};

}  // namespace

double compulsory_bytes(const ComputeDag& dag) { return Needs(dag).bytes(); }

}  // namespace fettle::space
