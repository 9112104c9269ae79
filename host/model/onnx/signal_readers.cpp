// Operators of sound: Fourier transforms, which are products with matrices of cosines and sines,
// and the windows and filters that lie around them, which are known before the network runs.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "host/model/onnx/composer.h"

namespace fettle::model {
namespace {

using List = NodeReader::List;

// Numbers of a matrix; one of 2048 points takes 32 MiB.
constexpr std::int64_t kMostNumbers = std::int64_t{1} << 23;

// Real signals have one part, complex ones two.
struct Transform {
  std::int64_t points = 0;  // of the transform; the signal is cut there, or zeros follow it
  std::int64_t given = 0;   // of the signal
  std::int64_t parts = 1;
  bool inverse = false, onesided = false;
  std::int64_t frequencies() const { return onesided ? points / 2 + 1 : points; }
};

// [given * parts, frequencies * 2]: what a row of a signal is multiplied by, each of its points
// multiplied by that of the window first.
ValueId matrix_of(Composer& make, const Transform& t, const std::vector<double>& window) {
  const std::int64_t columns = t.frequencies() * 2;
  std::vector<double> numbers(static_cast<std::size_t>(t.given * t.parts * columns), 0);
  const double sign = t.inverse ? 1 : -1, scale = t.inverse ? 1 / double(t.points) : 1;
  for (std::int64_t n = 0; n < std::min(t.given, t.points); ++n) {
    const double weight = scale * (window.empty() ? 1 : window[std::size_t(n)]);
    for (std::int64_t k = 0; k < t.frequencies(); ++k) {
      // Exact: the angle is one of so many.
      const double angle = 2 * std::numbers::pi * double(n * k % t.points) / double(t.points);
      const double real = weight * std::cos(angle), imaginary = weight * sign * std::sin(angle);
      const auto at = static_cast<std::size_t>(n * t.parts * columns + 2 * k);
      numbers[at] = real, numbers[at + 1] = imaginary;
      if (t.parts == 1) continue;
      const std::size_t below = at + static_cast<std::size_t>(columns);
      numbers[below] = -imaginary, numbers[below + 1] = real;
    }
  }
  return make.constant(numbers, {ir::Scalar::Float32, {t.given * t.parts, columns}});
}

Result<void> check(const NodeReader& node, const Transform& t) {
  if (node.type(0).scalar != ir::Scalar::Float32) return node.unsupported("other than float32");
  if (t.points < 1) return node.invalid("a transform of no points");
  if (t.given < 1 || t.points > kMostNumbers ||
      t.given * t.parts > kMostNumbers / (t.frequencies() * 2)) {
    return node.unsupported("a transform of so many points");
  }
  return {};
}

Outputs fourier_transform(const NodeReader& node) {
  List shape = node.shape(0);
  if (shape.size() < 2) return node.invalid("its signal has no axes of points and of parts");
  auto length = node.number_parameter("dft_length", 1, 0);
  if (!length) return std::move(length).error();
  // Opset 20 has the axis as an input.
  auto given_axis = node.opset() >= 20
                        ? node.number_parameter("axis", 2, -2)
                        : Result<double>(static_cast<double>(node.integer("axis", 1)));
  if (!given_axis) return std::move(given_axis).error();
  const auto rank = std::ssize(shape);
  auto axis = static_cast<std::int64_t>(std::clamp(*given_axis, -1e9, 1e9));
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank - 1) return node.invalid("has no such axis");
  Transform t;
  t.parts = shape.back();
  if (t.parts != 1 && t.parts != 2) return node.invalid("its signal is neither real nor complex");
  t.given = shape[std::size_t(axis)];
  t.inverse = node.integer("inverse", 0) != 0, t.onesided = node.integer("onesided", 0) != 0;
  if (t.onesided && (t.inverse || t.parts == 2)) {
    return node.unsupported("one side of a transform that has two");
  }
  if (!(std::fabs(*length) < 1e9)) return node.invalid("a length without end");
  t.points = node.has_input(1) ? static_cast<std::int64_t>(*length) : t.given;
  if (auto right = check(node, t); !right) return std::move(right).error();
  // The points beside their parts, then back.
  List there, back(shape.size(), 0);
  for (std::int64_t d = 0; d < rank - 1; ++d) {
    if (d != axis) there.push_back(d);
  }
  there.push_back(axis), there.push_back(rank - 1);
  for (std::size_t d = 0; d < there.size(); ++d) back[std::size_t(there[d])] = std::int64_t(d);
  Composer make(node);
  ValueId signal = node.input(0);
  if (t.points < t.given) {  // what is cut off has no part in it, whatever it is
    t.given = t.points;
    const ValueId kept = make.reshape(make.places(t.points, 0, ir::Scalar::Int64), {t.points});
    signal = make("Take", {signal, kept}, {{"axis", axis}});
  }
  const ValueId turned = make("Transpose", {signal}, {{"perm", there}});
  List rows = make.shape(turned);
  if (make.error()) return make.end({});
  rows.pop_back(), rows.back() = t.given * t.parts;
  const ValueId product = make("MatMul", {make.reshape(turned, rows), matrix_of(make, t, {})});
  rows.back() = t.frequencies(), rows.push_back(2);
  return make.end({make("Transpose", {make.reshape(product, rows)}, {{"perm", back}})});
}

// Of frames of the signal, each times the window.
Outputs short_time_transform(const NodeReader& node) {
  const List shape = node.shape(0);
  if (shape.size() != 2 && shape.size() != 3) return node.invalid("its signal has another rank");
  auto step = node.number_parameter("frame_step", 1, 0);
  if (!step) return std::move(step).error();
  std::vector<double> window;
  if (node.has_input(2)) {
    const auto known = node.numbers(2);
    if (!known) return node.unsupported("a window that is not known before the network runs");
    window = *known;
  }
  auto length = node.number_parameter("frame_length", 3, static_cast<double>(window.size()));
  if (!length) return std::move(length).error();
  if (!(*step >= 1 && *step < 1e9 && *length >= 1 && *length < 1e9)) {
    return node.invalid("frames without a length or a step");
  }
  Transform t;
  t.points = t.given = static_cast<std::int64_t>(*length);
  t.parts = shape.size() == 3 ? shape[2] : 1;
  t.onesided = node.integer("onesided", 1) != 0;
  if (t.parts != 1 && t.parts != 2) return node.invalid("its signal is neither real nor complex");
  if (t.onesided && t.parts == 2) return node.unsupported("one side of a transform that has two");
  if (!window.empty() && std::ssize(window) != t.points) {
    return node.invalid("its window is not as long as its frames");
  }
  if (auto right = check(node, t); !right) return std::move(right).error();
  const auto each = static_cast<std::int64_t>(*step);
  if (shape[1] < t.points) return node.invalid("its signal is shorter than a frame");
  const std::int64_t frames = (shape[1] - t.points) / each + 1;
  if (frames > kMostNumbers / t.points) return node.unsupported("so many frames");
  std::vector<double> places;
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    for (std::int64_t n = 0; n < t.points; ++n) places.push_back(double(frame * each + n));
  }
  Composer make(node);
  const ValueId of_frames = make.constant(places, {ir::Scalar::Int64, {frames, t.points}});
  const ValueId taken = make("Take", {node.input(0), of_frames}, {{"axis", 1}});
  const ValueId rows = make.reshape(taken, {shape[0], frames, t.points * t.parts});
  const ValueId product = make("MatMul", {rows, matrix_of(make, t, window)});
  return make.end({make.reshape(product, {shape[0], frames, t.frequencies(), 2})});
}

// Cosines of one, two, … turns over the window.
Outputs window_of(const NodeReader& node, const std::vector<double>& factors) {
  auto size = node.number_parameter("size", 0, 0);
  if (!size) return std::move(size).error();
  if (!(*size >= 1 && *size <= double(kMostNumbers))) return node.invalid("a window of that size");
  auto type = scalar_of(static_cast<int>(node.integer("output_datatype", 1)));
  if (!type) return std::move(type).error();
  const auto count = static_cast<std::int64_t>(*size);
  const bool periodic = node.integer("periodic", 1) != 0;
  const double turn = 2 * std::numbers::pi / double(std::max<std::int64_t>(count - !periodic, 1));
  std::vector<double> numbers;
  for (std::int64_t n = 0; n < count; ++n) {
    double sum = 0;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      sum += factors[i] * std::cos(double(i) * turn * double(n));
    }
    numbers.push_back(sum);
  }
  Composer make(node);
  return make.end({make.constant(numbers, {*type, {count}})});
}

Outputs hann_window(const NodeReader& node) { return window_of(node, {0.5, -0.5}); }
Outputs hamming_window(const NodeReader& node) { return window_of(node, {25. / 46, -21. / 46}); }
Outputs blackman_window(const NodeReader& node) { return window_of(node, {0.42, -0.5, 0.08}); }

// Triangles that lie evenly on the mel scale, 2595 log10(1 + f / 700): [frequencies, bands].
Outputs mel_weights(const NodeReader& node) {
  double given[5];  // bands, points, rate, the lowest and the highest frequency
  constexpr const char* kNames[] = {"num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz",
                                    "upper_edge_hertz"};
  for (std::size_t i = 0; i < 5; ++i) {
    if (!node.has_input(i)) return node.invalid(std::string("has no ") + kNames[i]);
    auto number = node.number_parameter(kNames[i], i, 0);
    if (!number) return std::move(number).error();
    given[i] = *number;
  }
  const auto [bands_given, points_given, rate, lowest, highest] = given;
  if (!(bands_given >= 1 && bands_given <= 65536 && points_given >= 1 && points_given <= 65536 &&
        rate >= 1 && rate <= 1e9 && lowest >= 0 && highest >= lowest && highest <= rate)) {
    return node.invalid("bands that there are not");
  }
  auto type = scalar_of(static_cast<int>(node.integer("output_datatype", 1)));
  if (!type) return std::move(type).error();
  const auto bands = static_cast<std::int64_t>(bands_given),
             points = static_cast<std::int64_t>(points_given), frequencies = points / 2 + 1;
  if (bands * frequencies > kMostNumbers) return node.unsupported("so many bands");
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(highest) - mel(lowest)) / double(bands + 2);
  // Where each band begins, is highest and ends: the three follow one another.
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < bands + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (mel(lowest) + double(i) * step) / 2595) - 1);
    edges.push_back(
        std::clamp(static_cast<std::int64_t>(std::floor(double(points + 1) * hertz / rate)),
                   std::int64_t{0}, frequencies));
  }
  std::vector<double> numbers(std::size_t(frequencies * bands), 0);
  for (std::int64_t band = 0; band < bands; ++band) {
    const std::int64_t low = edges[std::size_t(band)], top = edges[std::size_t(band) + 1],
                       high = edges[std::size_t(band) + 2];
    const auto put = [&](std::int64_t frequency, double weight) {
      if (frequency < frequencies) numbers[std::size_t(frequency * bands + band)] = weight;
    };
    if (low == top) put(top, 1);
    for (std::int64_t f = low; f <= top && low < top; ++f)
      put(f, double(f - low) / double(top - low));
    for (std::int64_t f = top; f < high; ++f) put(f, double(high - f) / double(high - top));
  }
  Composer make(node);
  return make.end({make.constant(numbers, {*type, {frequencies, bands}})});
}

constexpr ReaderRow kSignalReaders[] = {
    {"DFT", fourier_transform},          {"STFT", short_time_transform},
    {"HannWindow", hann_window},         {"HammingWindow", hamming_window},
    {"BlackmanWindow", blackman_window}, {"MelWeightMatrix", mel_weights},
};

}  // namespace

std::span<const ReaderRow> signal_readers() { return kSignalReaders; }

}  // namespace fettle::model
