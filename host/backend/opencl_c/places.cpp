// Expressions, second part: places in arrays, and what is loaded from there (expressions.h).
#include "host/backend/opencl_c/accesses.h"
#include "host/backend/opencl_c/expressions.h"

namespace fettle::backend::opencl_c {
namespace {

using ir::Expr;

// Terms of a sum, one after the other.
class Terms {
 public:
  explicit Terms(std::string begun = "") : text(std::move(begun)) {}
  void add(const Code& leaf, std::int64_t factor) {
    const std::int64_t size = factor < 0 ? -factor : factor;
    add(factor < 0, size == 1 ? leaf.within(Level::Product)
                              : leaf.within(Level::Unary) + " * " + std::to_string(size));
  }
  void add(std::int64_t constant) {
    if (constant == 0 && !text.empty()) return;
    add(constant < 0, std::to_string(constant < 0 ? -constant : constant));
  }
  std::string text;

 private:
  void add(bool minus, const std::string& term) {
    text += text.empty() ? (minus ? "-" : "") : (minus ? " - " : " + ");
    text += term;
  }
};

// base / by, term by term. Null: it is not known to be a multiple.
Expr quotient(const Expr& base, int by) {
  const ir::LeafSum sum = ir::leaf_sum_of(base);
  if (sum.constant % by != 0) return nullptr;
  Expr which = ir::int_imm(sum.constant / by);
  for (const auto& [leaf, factor] : sum.terms) {
    if (factor % by != 0) return nullptr;
    which = which + leaf * ir::int_imm(factor / by, leaf->type);
  }
  return which;
}

}  // namespace

std::string Expressions::index(const Expr& scalar) {
  const ir::LeafSum sum = ir::leaf_sum_of(scalar);
  Terms terms;
  for (const auto& [leaf, factor] : sum.terms) terms.add(value(leaf), factor);
  terms.add(sum.constant);
  return terms.text;
}

std::string Expressions::place(const Expr& scalar, const std::string& array) {
  const ir::LeafSum sum = ir::leaf_sum_of(scalar);
  std::map<int, ir::LeafSum> known;  // by the scope at whose begin they are
  ir::LeafSum rest;
  for (const auto& [leaf, factor] : sum.terms) {
    const auto depth = scopes_.depth_of(leaf);
    (depth ? known[*depth] : rest).add(leaf, factor);
  }
  std::string begun;
  for (const auto& [depth, part] : known) {
    Terms terms(begun);
    names_values_ = false;
    for (const auto& [leaf, factor] : part.terms) terms.add(value(leaf), factor);
    names_values_ = true;
    const bool is_name = terms.text.find_first_of(" -(") == std::string::npos;
    begun = is_name ? terms.text : scopes_.named(depth, terms.text, array + "_at");
  }
  Terms terms(begun);
  for (const auto& [leaf, factor] : rest.terms) terms.add(value(leaf), factor);
  terms.add(sum.constant);
  return terms.text;
}

std::optional<std::string> Expressions::vector_index(const Expr& index, int lanes) {
  const auto* ramp = std::get_if<ir::Ramp>(&index->node);
  if (!ramp || ramp->stride != 1 || index->type.lanes != lanes) return std::nullopt;
  const Expr which = quotient(ramp->base, lanes);
  if (!which) return std::nullopt;
  return this->index(which);
}

const Array& Expressions::array(const ir::Buffer& buffer) {
  const auto found = arrays_.find(buffer.get());
  if (found != arrays_.end()) return found->second;
  fail("buffer " + buffer->name + " is neither a parameter nor allocated");
  return arrays_[buffer.get()];
}

bool Expressions::by_call(const ir::Buffer& buffer, ir::DataType type) {
  return types_.by_call(type) && (buffer->scope == ir::Scope::Global || array(buffer).halves);
}

std::string Expressions::address(const Array& array, const Expr& scalar_index) {
  const std::string at = place(scalar_index, array.name);
  return at == "0" ? array.pointer() : array.pointer() + " + " + at;
}

Code Expressions::loaded_element(ir::DataType type, const ir::Load& n) {
  const Array& from = array(n.buffer);
  const Expr on = condition(n.predicate);
  std::string text;
  if (by_call(n.buffer, type)) {
    text = "vload_half(" + place(n.indices[0], from.name) + ", " + from.pointer() + ")";
  } else {
    text = from.only_one ? from.name : from.name + "[" + place(n.indices[0], from.name) + "]";
  }
  Code code{text};
  if (type.is_bool()) code = {text + " != 0", Level::Equality};
  if (!on) return code;
  const Code zero = type.is_float() ? types_.literal(0, type) : integer_literal(0, type);
  return narrowed(
      type, {value(on).within(Level::AnyOf) + " ? " + code.within(Level::AnyOf) + " : " + zero.text,
             Level::Choice});
}

std::string Expressions::loaded_texels(const Array& from, ir::DataType type, const Expr& base) {
  const Expr first = quotient(base, kTexel);
  if (!first) return "";
  // A half read as floats is what it is.
  const bool halves = type.scalar == ir::Scalar::Float16 && !types_.by_call(type);
  const std::string call = std::string(halves ? "read_imageh(" : "read_imagef(") + from.name +
                           ", " + from.texels_begin + " + ";
  std::string text;
  for (int lane = 0; lane < type.lanes; lane += kTexel) {
    text += (lane ? ", " : "") + call + place(first + ir::int_imm(lane / kTexel), from.name) + ")";
  }
  return type.lanes == kTexel ? text : "(" + types_.value(type) + ")(" + text + ")";
}

Code Expressions::loaded(const ir::ExprNode& node, const ir::Load& n) {
  const ir::DataType type = node.type;
  if (n.indices.size() != 1) {
    fail("a load of " + n.buffer->name + " has not one flat index");
    return {"0"};
  }
  if (type.lanes == 1) return loaded_element(type, n);
  const Array from = array(n.buffer);
  const Expr on = condition(n.predicate);
  const std::string vector = types_.value(type);
  if (from.lanes == type.lanes && !on) {
    if (const auto at = vector_index(n.indices[0], from.lanes)) {
      return {from.only_one ? from.name : from.name + "[" + *at + "]"};
    }
  }
  const auto form = ir::strided_lanes(n.indices[0]);
  if (!from.texels_begin.empty()) {
    const std::string read = form && form->stride == 1 ? loaded_texels(from, type, form->base) : "";
    if (read.empty()) fail("a load of " + n.buffer->name + " is not of whole texels");
    if (!on) return {read, type.lanes > kTexel ? Level::Unary : Level::Primary};
    return {value(on).within(Level::AnyOf) + " ? " + read + " : (" + vector + ")(0)",
            Level::Choice};
  }
  const bool whole = form && from.lanes == 1 && !type.is_bool() && (!on || on->type.lanes == 1);
  if (whole && form->stride == 1) {
    const std::string begin = address(from, form->base);
    std::string read = std::string(by_call(n.buffer, type) ? "vload_half" : "vload") +
                       lanes_text(type.lanes) + "(0, " + begin + ")";
    // PoCL 3 reads eight and more halves as if they lay at a multiple of their size.
    if (by_call(n.buffer, type) && type.lanes > 4) {
      read = "(" + vector + ")(";
      for (int lane = 0; lane < type.lanes; lane += 4) {
        read += (lane ? ", " : "") + std::string("vload_half4(") + std::to_string(lane / 4) + ", " +
                begin + ")";
      }
      read += ")";
    }
    if (!on) return {read};
    return {value(on).within(Level::AnyOf) + " ? " + read + " : (" + vector + ")(0)",
            Level::Choice};
  }
  if (whole && form->stride == 0) {
    const ir::Load one{n.buffer, {form->base}, on};
    return {"(" + vector + ")(" + loaded_element(type.element(), one).text + ")", Level::Unary};
  }
  std::string text;
  for (int lane = 0; lane < type.lanes; ++lane) {
    const ir::Load one{n.buffer,
                       {lane_of(n.indices[0], lane)},
                       n.predicate ? lane_of(n.predicate, lane) : nullptr};
    if (!one.indices[0] || (n.predicate && !one.predicate)) {
      fail("an index of " + n.buffer->name + " that has no lanes");
      return {"0"};
    }
    Code element = loaded_element(type.element(), one);
    if (type.is_bool()) element = {"-(int)" + element.within(Level::Primary), Level::Unary};
    text += (lane ? ", " : "") + element.text;
  }
  return {"(" + vector + ")(" + text + ")", Level::Unary};
}

}  // namespace fettle::backend::opencl_c
