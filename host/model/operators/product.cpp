// Products of matrices.
#include <algorithm>
#include <map>
#include <string_view>

#include "host/model/operators/sums.h"

namespace fettle::model {
namespace {

Result<Written> matmul(const NodeCall& call) {
  const auto as_it_is = [](const ir::Expr& x, const auto&) { return widened(x); };
  auto out = matrix_sums(call, false, as_it_is, as_it_is);
  if (out && out->stage.buffer->type.scalar != call.scalar(0)) {
    const auto axes = axes_of(out->shape);
    out->stage = call.add("value", axes, {},
                          narrowed(space::at(out->stage, indices_of(axes)), call.scalar(0)));
  }
  return out;
}

// alpha A B + beta C, A and B transposed where the attributes say so, C broadcast.
Result<Written> gemm(const NodeCall& call) {
  const Shape &a = call.shape(0), &b = call.shape(1);
  if (a.size() != 2 || b.size() != 2) return invalid("an input is no matrix");
  const bool flip_a = call.integer("transA"), flip_b = call.integer("transB");
  const std::int64_t rows = a[flip_a], length = a[!flip_a], columns = b[!flip_b];
  if (b[flip_b] != length) return invalid("its matrices do not fit");
  const auto axes = axes_of({rows, columns});
  const space::Axis k = space::make_axis("k", length);
  call.sums_up(1, length);
  const auto m = ir::var_ref(axes[0].var), n = ir::var_ref(axes[1].var), at = ir::var_ref(k.var);
  const space::Stage sums =
      call.add("product", axes, {k},
               widened(element(call, 0, flip_a ? std::vector{at, m} : std::vector{m, at})) *
                   widened(element(call, 1, flip_b ? std::vector{n, at} : std::vector{at, n})));
  const auto out_axes = axes_of({rows, columns});
  ir::Expr value = space::at(sums, indices_of(out_axes));
  const auto times = [&](const ir::Expr& x, double factor) -> Result<ir::Expr> {
    if (factor == 1) return x;
    if (x->type != ir::kFloat32) return unsupported("a factor of " + ir::to_string(x->type));
    return x * ir::float_imm(factor);
  };
  auto product = times(value, call.number("alpha"));
  if (!product) return std::move(product).error();
  value = *product;
  if (call.has(2)) {
    auto shape = broadcast({{rows, columns}, call.shape(2)});
    if (!shape || *shape != Shape{rows, columns}) return invalid("its third input does not fit");
    auto added = times(widened(broadcast_element(call, 2, out_axes)), call.number("beta"));
    if (!added) return std::move(added).error();
    value = value + *added;
  }
  return written(call.add("value", out_axes, {}, narrowed(value, call.scalar(0))));
}

// Sums of products by letters: an axis of the output for each letter behind "->", a sum over each
// other one. Without "->" the letters that stand once are the output's, in their order.
struct Letters {
  std::vector<std::string> inputs;
  std::string output;
};

// What "..." stands for gets letters that no equation has: the last axis of it kLastUnnamed.
constexpr char kLastUnnamed = 31;
bool is_unnamed(char c) { return c <= kLastUnnamed; }
constexpr std::string_view kUnnamed = "...";

// `count` letters in its place.
std::string with_unnamed(std::string text, std::size_t count) {
  std::string letters;
  for (std::size_t i = 0; i < count; ++i) {
    letters += static_cast<char>(kLastUnnamed + 1 - static_cast<int>(count - i));
  }
  return text.replace(text.find(kUnnamed), kUnnamed.size(), letters);
}

// One such letter for each axis that has none of its own; they stand first where an equation does
// not say where.
Result<Letters> name_unnamed(Letters letters, bool says_output, const NodeCall& call) {
  std::size_t most = 0;
  const auto has_unnamed = [](const std::string& text) {
    return text.find(kUnnamed) != std::string::npos;
  };
  for (std::size_t i = 0; i < letters.inputs.size(); ++i) {
    std::string& input = letters.inputs[i];
    if (!has_unnamed(input)) continue;
    const std::size_t named = input.size() - kUnnamed.size(), rank = call.shape(i).size();
    if (rank < named || rank - named >= kLastUnnamed) {
      return invalid("a letter for each axis is missing");
    }
    input = with_unnamed(input, rank - named);
    most = std::max(most, rank - named);
  }
  if (!says_output) letters.output = std::string(kUnnamed) + letters.output;
  if (has_unnamed(letters.output)) {
    letters.output = with_unnamed(letters.output, most);
  } else if (most > 0) {
    return unsupported("sums over axes without letters");
  }
  for (const std::string& text : letters.inputs) {
    if (text.find('.') != std::string::npos) return invalid("its equation is none");
  }
  return letters;
}

Result<Letters> letters_of(const NodeCall& call) {
  Letters out;
  std::string text;
  for (const char c : call.word("equation")) {
    if (is_unnamed(c)) return invalid("its equation is none");
    if (c != ' ') text += c;
  }
  const std::size_t arrow = text.find("->");
  std::string operands = text.substr(0, arrow), all;
  for (std::size_t begin = 0; begin <= operands.size();) {
    const std::size_t end = std::min(operands.find(',', begin), operands.size());
    out.inputs.push_back(operands.substr(begin, end - begin));
    all += out.inputs.back();
    begin = end + 1;
  }
  if (arrow != std::string::npos) {
    out.output = text.substr(arrow + 2);
  } else {
    std::string sorted = all;
    std::sort(sorted.begin(), sorted.end());
    for (const char c : sorted) {
      if (c != '.' && std::count(all.begin(), all.end(), c) == 1) out.output += c;
    }
  }
  if (out.inputs.size() != call.inputs()) return invalid("its equation has other inputs");
  auto named = name_unnamed(std::move(out), arrow != std::string::npos, call);
  if (!named) return named;
  out = std::move(*named);
  all.clear();
  for (const std::string& input : out.inputs) all += input;
  for (const char c : out.output) {
    const bool once = std::count(out.output.begin(), out.output.end(), c) == 1;
    if (!once || all.find(c) == std::string::npos) return invalid("its equation is none");
  }
  return out;
}

Result<Written> einsum(const NodeCall& call) {
  auto letters = letters_of(call);
  if (!letters) return std::move(letters).error();
  std::map<char, std::int64_t> extents;
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    const Shape& shape = call.shape(i);
    if (letters->inputs[i].size() != shape.size())
      return invalid("a letter for each axis is missing");
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const char letter = letters->inputs[i][d];
      const auto [at, fresh] = extents.emplace(letter, shape[d]);
      if (fresh || at->second == shape[d]) continue;
      const bool repeats = is_unnamed(letter) && (at->second == 1 || shape[d] == 1);
      if (!repeats) return invalid("one letter for axes of two lengths");
      at->second = at->second * shape[d];  // one of them is 1
    }
  }
  Shape to;
  for (const char c : letters->output) to.push_back(extents.at(c));
  std::vector<space::Axis> axes = axes_of(to), reduced;
  std::map<char, ir::Expr> at;
  for (std::size_t d = 0; d < to.size(); ++d) at[letters->output[d]] = ir::var_ref(axes[d].var);
  for (const auto& [letter, extent] : extents) {
    if (at.count(letter)) continue;
    reduced.push_back(space::make_axis("k" + std::to_string(reduced.size()), extent));
    at[letter] = ir::var_ref(reduced.back().var);
  }
  std::int64_t terms = 1;
  for (const space::Axis& axis : reduced) terms *= axis.extent;
  call.sums_up(call.inputs() - 1, terms);
  ir::Expr product;
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    std::vector<ir::Expr> indices;
    for (std::size_t d = 0; d < letters->inputs[i].size(); ++d) {
      const char letter = letters->inputs[i][d];
      indices.push_back(call.shape(i)[d] < extents.at(letter) ? ir::int_imm(0) : at.at(letter));
    }
    const ir::Expr factor = widened(element(call, i, indices));
    product = product ? product * factor : factor;
  }
  space::Stage value = call.add("sums", axes, reduced, product);
  if (value.buffer->type.scalar != call.scalar(0)) {
    const auto out_axes = axes_of(to);
    value = call.add("value", out_axes, {},
                     narrowed(space::at(value, indices_of(out_axes)), call.scalar(0)));
  }
  return Written{std::move(value), to};
}

constexpr Operator kProduct[] = {
    {"Einsum", 1, 8, einsum, nullptr, Takes::Same},
    {"MatMul", 2, 2, matmul, nullptr, Takes::Same},
    {"Gemm", 2, 3, gemm, nullptr, Takes::Same},
};

}  // namespace

std::span<const Operator> product_operators() { return kProduct; }

Result<Written> matrix_sums(const NodeCall& call, bool transposed, const Taken& left,
                            const Taken& right) {
  const Shape& a = call.shape(0);
  Shape b = call.shape(1);
  if (a.empty() || b.empty()) return invalid("an input is a scalar");
  const bool row = a.size() == 1, column = b.size() == 1;
  if (transposed && !column) std::swap(b.back(), b[b.size() - 2]);
  const std::int64_t length = a.back();
  if (length != (column ? b[0] : b[b.size() - 2])) {
    return invalid("its matrices do not fit: " + std::to_string(length) + " columns, " +
                   std::to_string(column ? b[0] : b[b.size() - 2]) + " rows");
  }
  const Shape batch_a(a.begin(), row ? a.end() - 1 : a.end() - 2);
  const Shape batch_b(b.begin(), column ? b.end() - 1 : b.end() - 2);
  auto shape = broadcast({batch_a, batch_b});
  if (!shape) return std::move(shape).error();
  const std::size_t batches = shape->size();
  if (!row) shape->push_back(a[a.size() - 2]);
  if (!column) shape->push_back(b.back());
  call.sums_up(1, length);
  const auto axes = axes_of(*shape);
  const space::Axis k = space::make_axis("k", length);
  const auto indices = [&](const Shape& batch) {
    std::vector<ir::Expr> at;
    for (std::size_t d = 0; d < batch.size(); ++d) {
      at.push_back(batch[d] == 1 ? ir::int_imm(0)
                                 : ir::var_ref(axes[batches - batch.size() + d].var));
    }
    return at;
  };
  auto at_a = indices(batch_a), at_b = indices(batch_b);
  if (!row) at_a.push_back(ir::var_ref(axes[batches].var));
  at_a.push_back(ir::var_ref(k.var));
  at_b.push_back(ir::var_ref(k.var));
  if (!column) at_b.push_back(ir::var_ref(axes[batches + !row].var));
  if (transposed && !column) std::swap(at_b.back(), at_b[at_b.size() - 2]);
  const ir::Expr product = left(element(call, 0, at_a), at_a) * right(element(call, 1, at_b), at_b);
  return Written{call.add("product", axes, {k}, product), *shape};
}

}  // namespace fettle::model
