// Operators on plain tensors as nested loops over the inputs: what plain_reference.h
// leaves out. Without their tails.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "host/space/operators/operator_call.h"
#include "tests/unit/plain_fill.h"

namespace fettle::testing {

using Shape = std::vector<std::int64_t>;

inline std::int64_t elements_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

// The place of a flat element number along every axis.
inline Shape place_of(std::int64_t flat, const Shape& shape) {
  Shape place(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    place[d] = flat % shape[d];
    flat /= shape[d];
  }
  return place;
}

inline std::size_t flat_of(const Shape& place, const Shape& shape) {
  std::int64_t flat = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + place[d];
  return std::size_t(flat);
}

// Of int8: the nearest int8, halves upward.
inline double plain_mean(const space::OperatorCall& w, double sum, double count) {
  return w.word("dtype") == "int8" ? std::floor(sum / count + 0.5) : sum / count;
}

inline std::vector<double> plain_softmax(const space::OperatorCall& w) {
  const std::int64_t rows = w.integer("batch"), length = w.integer("features");
  const auto in = operand(w, std::size_t(rows * length), 1, 1);
  std::vector<double> out(in.begin(), in.end());
  for (std::int64_t n = 0; n < rows; ++n) {
    const auto row = out.begin() + n * length;
    double sum = 0;
    for (auto v = row; v != row + length; ++v) sum += * v = std::exp(*v);
    for (auto v = row; v != row + length; ++v) *v /= sum;
  }
  return out;
}

inline std::vector<double> plain_layer_norm(const space::OperatorCall& w) {
  const std::int64_t rows = w.integer("batch"), length = w.integer("features");
  const auto in = operand(w, std::size_t(rows * length), 1, 1);
  const auto scale = operand(w, std::size_t(length), 2, 1),
             shift = operand(w, std::size_t(length), 6, 1);
  std::vector<double> out(in.begin(), in.end());
  for (std::int64_t n = 0; n < rows; ++n) {
    const auto row = out.begin() + n * length;
    const double mean = std::accumulate(row, row + length, 0.0) / double(length);
    double variance = 0;
    for (auto v = row; v != row + length; ++v) variance += (*v - mean) * (*v - mean);
    variance /= double(length);
    for (std::int64_t k = 0; k < length; ++k) {
      row[k] = (row[k] - mean) / std::sqrt(variance + 1e-5) * scale[std::size_t(k)] +
               shift[std::size_t(k)];
    }
  }
  return out;
}

inline std::vector<double> plain_elementwise(const space::OperatorCall& w) {
  const Shape shape = w.list("shape");
  Shape other = w.list("shape_b");
  other.insert(other.begin(), shape.size() - other.size(), 1);
  const auto a = operand(w, std::size_t(elements_of(shape)), 1, 1),
             b = operand(w, std::size_t(elements_of(other)), 5, 1);
  const std::string f = w.word("function");
  std::vector<double> out(a.begin(), a.end());
  for (std::size_t i = 0; i < out.size(); ++i) {
    Shape place = place_of(std::int64_t(i), shape);
    for (std::size_t d = 0; d < shape.size(); ++d) place[d] = std::min(place[d], other[d] - 1);
    const double y = b[flat_of(place, other)];
    out[i] = f == "add"        ? out[i] + y
             : f == "subtract" ? out[i] - y
             : f == "multiply" ? out[i] * y
             : f == "divide"   ? out[i] / y
             : f == "maximum"  ? std::max(out[i], y)
                               : std::min(out[i], y);
  }
  return out;
}

inline std::vector<double> plain_pad(const space::OperatorCall& w) {
  const Shape shape = w.list("shape"), before = w.list("before"), after = w.list("after");
  Shape wide = shape;
  for (std::size_t d = 0; d < shape.size(); ++d) wide[d] += before[d] + after[d];
  const auto in = operand(w, std::size_t(elements_of(shape)), 1, 1);
  std::vector<double> out(std::size_t(elements_of(wide)), double(w.integer("value")));
  for (std::size_t i = 0; i < in.size(); ++i) {
    Shape place = place_of(std::int64_t(i), shape);
    for (std::size_t d = 0; d < shape.size(); ++d) place[d] += before[d];
    out[flat_of(place, wide)] = in[i];
  }
  return out;
}

inline std::vector<double> plain_transpose(const space::OperatorCall& w) {
  const Shape shape = w.list("shape"), order = w.list("permutation");
  Shape turned(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) turned[d] = shape[std::size_t(order[d])];
  const auto in = operand(w, std::size_t(elements_of(shape)), 1, 1);
  std::vector<double> out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Shape from = place_of(std::int64_t(i), shape);
    Shape to(shape.size());
    for (std::size_t d = 0; d < shape.size(); ++d) to[d] = from[std::size_t(order[d])];
    out[flat_of(to, turned)] = in[i];
  }
  return out;
}

inline std::vector<double> plain_reduce(const space::OperatorCall& w) {
  const Shape shape = w.list("shape"), axes = w.list("axes");
  const std::string f = w.word("function");
  Shape kept = shape;
  double length = 1;
  for (const std::int64_t axis : axes) {
    length *= double(shape[std::size_t(axis)]);
    kept[std::size_t(axis)] = 1;
  }
  const double scale = f == "sum" ? 1 / std::sqrt(length) : f == "mean" ? std::sqrt(length) : 1;
  const auto in = operand(w, std::size_t(elements_of(shape)), 1, scale);
  const double begin = f == "max" ? -1e30 : f == "min" ? 1e30 : 0;
  std::vector<double> out(std::size_t(elements_of(kept)), begin);
  for (std::size_t i = 0; i < in.size(); ++i) {
    Shape place = place_of(std::int64_t(i), shape);
    for (const std::int64_t axis : axes) place[std::size_t(axis)] = 0;
    double& to = out[flat_of(place, kept)];
    to = f == "max"   ? std::max<double>(to, in[i])
         : f == "min" ? std::min<double>(to, in[i])
                      : to + in[i];
  }
  if (f == "mean") {
    for (double& value : out) value = plain_mean(w, value, length);
  }
  return out;
}

inline std::vector<double> plain_matmul(const space::OperatorCall& w) {
  const std::int64_t batch = w.integer("batch"), m = w.integer("m"), n = w.integer("n"),
                     k = w.integer("k");
  const auto a = operand(w, std::size_t(batch * m * k), 1, 1),
             b = operand(w, std::size_t(batch * k * n), 5, 1 / std::sqrt(double(k)));
  std::vector<double> out(std::size_t(batch * m * n));
  for (std::int64_t i = 0; i < batch; ++i)
    for (std::int64_t y = 0; y < m; ++y)
      for (std::int64_t x = 0; x < n; ++x)
        for (std::int64_t j = 0; j < k; ++j)
          out[std::size_t((i * m + y) * n + x)] +=
              double(a[std::size_t((i * m + y) * k + j)]) * b[std::size_t((i * k + j) * n + x)];
  return out;
}

inline std::vector<double> plain_tensor(const space::OperatorCall& w) {
  if (w.op() == "softmax") return plain_softmax(w);
  if (w.op() == "layer_norm") return plain_layer_norm(w);
  if (w.op() == "elementwise") return plain_elementwise(w);
  if (w.op() == "pad") return plain_pad(w);
  if (w.op() == "transpose") return plain_transpose(w);
  if (w.op() == "reduce") return plain_reduce(w);
  return plain_matmul(w);
}

// Extent of the output's last axis: what a tail's constants per channel run over.
inline std::int64_t plain_last_extent(const space::OperatorCall& w) {
  if (w.op() == "softmax" || w.op() == "layer_norm") return w.integer("features");
  if (w.op() == "batch_matmul") return w.integer("n");
  const Shape shape = w.list("shape");
  if (w.op() == "pad") return shape.back() + w.list("before").back() + w.list("after").back();
  if (w.op() == "transpose") return shape[std::size_t(w.list("permutation").back())];
  if (w.op() == "elementwise") return shape.back();
  const Shape reduced = w.list("axes");
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (std::find(reduced.begin(), reduced.end(), std::int64_t(d)) == reduced.end())
      return shape[d];
  }
  return 1;
}

}  // namespace fettle::testing
