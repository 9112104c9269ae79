// Images of another size: where ONNX says that an output's element lies in the input, as whole
// numbers (operators/resample.cpp).
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "host/model/onnx/readers.h"

namespace fettle::model {
namespace {

using List = NodeReader::List;

// The scale of an axis, exactly.
struct Ratio {
  std::int64_t over, under;
};

// The simplest fraction that is the number up to float32's rounding; empty: none of under 2^14.
std::optional<Ratio> ratio_of(double number) {
  if (!(number > 0) || number > 1 << 14) return std::nullopt;
  // Continued fractions.
  std::int64_t p0 = 1, q0 = 0, p1 = static_cast<std::int64_t>(std::floor(number)), q1 = 1;
  double rest = number - std::floor(number);
  while (std::fabs(static_cast<double>(p1) / static_cast<double>(q1) - number) > 2e-7 * number) {
    rest = 1 / rest;
    const double whole = std::floor(rest);
    rest -= whole;
    if (whole > 1 << 14) return std::nullopt;
    const auto a = static_cast<std::int64_t>(whole);
    const std::int64_t p2 = a * p1 + p0, q2 = a * q1 + q0;
    if (q2 > 1 << 14 || p2 > 1 << 28) return std::nullopt;
    p0 = p1, q0 = q1, p1 = p2, q1 = q2;
  }
  return Ratio{p1, q1};
}

struct Sizes {
  List to;
  std::vector<Ratio> scales;
};

// From sizes or scales, of all axes or of those that are named.
Result<Sizes> sizes_of(const NodeReader& node) {
  const auto& x = node.shape(0);
  const auto rank = static_cast<std::int64_t>(x.size());
  List axes(x.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = node.list("axes", axes);
  Sizes out{x, std::vector<Ratio>(x.size(), Ratio{1, 1})};
  const bool by_size = node.opset() >= 11 && node.has_input(3);
  List sizes;
  std::vector<double> scales;
  if (by_size) {
    auto given = node.parameter("sizes", 3, {});
    if (!given) return std::move(given).error();
    sizes = std::move(*given);
  } else {
    auto given = node.number_list("scales", node.opset() < 11 ? 1 : 2);
    if (!given) return std::move(given).error();
    scales = std::move(*given);
  }
  if ((by_size ? sizes.size() : scales.size()) != axes.size()) {
    return node.invalid(std::string("its ") + (by_size ? "sizes" : "scales") +
                        " have another rank");
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank) return node.invalid("has no such axis");
    const auto d = static_cast<std::size_t>(axis);
    if (by_size) {
      if (sizes[i] < 1) return node.invalid("has the size " + std::to_string(sizes[i]));
      out.to[d] = sizes[i], out.scales[d] = {sizes[i], x[d]};
      continue;
    }
    const auto ratio = ratio_of(scales[i]);
    if (!ratio) return node.unsupported("the factor " + std::to_string(scales[i]));
    out.scales[d] = *ratio;
    out.to[d] = x[d] * ratio->over / ratio->under;
    if (out.to[d] < 1) return node.invalid("leaves nothing of an axis");
  }
  return out;
}

// What places are by: (step i + offset) / divisor.
struct Line {
  std::int64_t step, offset, divisor;
};

Result<Line> line_of(const NodeReader& node, const std::string& mode, std::int64_t from,
                     std::int64_t to, const Ratio& scale) {
  if (mode == "asymmetric") return Line{scale.under, 0, scale.over};
  if (mode == "align_corners" && to * scale.under != from * scale.over) {
    // ONNX's tests take the length before it is rounded, onnxruntime and PyTorch behind it.
    return node.unsupported("align_corners by a factor that makes no whole length");
  }
  if (mode == "align_corners") return to > 1 ? Line{from - 1, 0, to - 1} : Line{0, 0, 1};
  if (mode == "pytorch_half_pixel" && to == 1) return Line{0, 0, 1};
  if (mode == "half_pixel" || mode == "pytorch_half_pixel") {
    return Line{2 * scale.under, scale.under - scale.over, 2 * scale.over};
  }
  return node.unsupported("places by " + mode);
}

// Twice as fine, so that half a step is whole.
Result<Line> nearest_line(const NodeReader& node, const Line& line, const std::string& way) {
  if (way == "floor") return line;
  if (way == "ceil") return Line{line.step, line.offset + line.divisor - 1, line.divisor};
  const Line twice{2 * line.step, 2 * line.offset, 2 * line.divisor};
  if (way == "round_prefer_ceil") {
    return Line{twice.step, twice.offset + line.divisor, twice.divisor};
  }
  if (way == "round_prefer_floor") {
    return Line{twice.step, twice.offset + line.divisor - 1, twice.divisor};
  }
  return node.unsupported("neighbours by " + way);
}

// Nearest neighbours by whole factors, where all ways to find them say the same.
std::optional<List> repeats(const Sizes& sizes, const std::string& place, const std::string& way) {
  const bool half = place == "half_pixel" || place == "pytorch_half_pixel";
  if (!(place == "asymmetric" && way == "floor") && !(half && way.starts_with("round"))) {
    return std::nullopt;
  }
  List factors;
  for (const Ratio& scale : sizes.scales) {
    if (scale.over % scale.under) return std::nullopt;
    factors.push_back(scale.over / scale.under);
  }
  return factors;
}

Outputs resize(const NodeReader& node) {
  const bool old = node.opset() < 11;
  const std::string mode = node.word("mode", "nearest");
  const std::string place =
      node.word("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  std::string way = node.word("nearest_mode", old ? "floor" : "round_prefer_floor");
  const bool nearest = mode == "nearest", cubic = mode == "cubic";
  if (!nearest && !cubic && mode != "linear" && mode != "bilinear") {
    return node.unsupported("the mode '" + mode + "'");
  }
  if (node.word("keep_aspect_ratio_policy", "stretch") != "stretch") {
    return node.unsupported("its keep_aspect_ratio_policy");
  }
  if (cubic && node.integer("exclude_outside", 0)) return node.unsupported("exclude_outside");
  auto sizes = sizes_of(node);
  if (!sizes) return std::move(sizes).error();
  const auto& x = node.shape(0);
  // Opset 10 does not say it; its test, and onnxruntime, take the next one where there are fewer.
  if (nearest && old) {
    const auto shrinks = [](const Ratio& scale) { return scale.over < scale.under; };
    const auto grows = [](const Ratio& scale) { return scale.over > scale.under; };
    const bool fewer = std::any_of(sizes->scales.begin(), sizes->scales.end(), shrinks);
    if (fewer && std::any_of(sizes->scales.begin(), sizes->scales.end(), grows)) {
      return node.unsupported("smaller along one axis, larger along another");
    }
    if (fewer) way = "ceil";
  }
  if (node.integer("antialias", 0)) {
    for (std::size_t d = 0; d < x.size(); ++d) {
      if (sizes->to[d] < x[d]) return node.unsupported("antialias of what becomes smaller");
    }
  }
  if (nearest) {
    if (const auto factors = repeats(*sizes, place, way)) {
      return one(node, "Resize", {{"scales", *factors}}, {node.input(0)});
    }
  }
  List steps, offsets, divisors;
  for (std::size_t d = 0; d < x.size(); ++d) {
    const bool stays = sizes->to[d] == x[d] && sizes->scales[d].over == sizes->scales[d].under;
    auto line = stays ? Result<Line>(Line{1, 0, 1})
                      : line_of(node, place, x[d], sizes->to[d], sizes->scales[d]);
    if (line && nearest && !stays) line = nearest_line(node, *line, way);
    if (!line) return std::move(line).error();
    const std::int64_t common =
        std::gcd(std::gcd(line->step, line->offset), line->divisor);  // above 0: the divisor is
    steps.push_back(line->step / common);
    offsets.push_back(line->offset / common);
    divisors.push_back(line->divisor / common);
  }
  json attributes = {
      {"shape", sizes->to}, {"steps", steps}, {"offsets", offsets}, {"divisors", divisors}};
  // As it is written again.
  attributes["coordinate_transformation_mode"] = place;
  attributes["nearest_mode"] = way;
  if (!(node.opset() >= 11 && node.has_input(3))) {
    for (const Ratio& scale : sizes->scales) {
      attributes["scales"].push_back(static_cast<double>(scale.over) /
                                     static_cast<double>(scale.under));
    }
  }
  if (!nearest) {
    attributes["mode"] = cubic ? "cubic" : "linear";
    attributes["cubic_coeff_a"] = node.number("cubic_coeff_a", -0.75);
  }
  return one(node, nearest ? "ResizeNearest" : "ResizeSmooth", std::move(attributes),
             {node.input(0)});
}

constexpr ReaderRow kResizeReaders[] = {
    {"Resize", resize},
    {"Upsample", resize},
};

}  // namespace

std::span<const ReaderRow> resize_readers() { return kResizeReaders; }

}  // namespace fettle::model
