// Making layers from compute DAGs (layer.h).
#include "tests/bench/kernels/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "host/space/reference.h"
#include "host/space/workload.h"
#include "schemas/half/half.h"

namespace fettle::bench {
namespace {

// How far an output may be from the expected one, as a share of its largest value:
// room for a Winograd transform's cancellation. Peers round a float16 after each step of a tail.
constexpr double kPeerTolerance = 1e-3, kHalfPeerTolerance = 4e-3;

// Where the CPU has no instruction for four products of int8 in 32 bits, oneDNN adds two in 16 and
// halves a convolution's weights so that they fit (its documentation, "Nuances of int8
// computations"). Even weights of 7 bits lose nothing by that.
float peer_weight(float weight) { return 2 * std::trunc(weight / 4); }

template <typename T>
std::vector<T> elements_of(const std::vector<std::uint8_t>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}
template <typename T>
std::vector<float> converted(const std::vector<std::uint8_t>& bytes) {
  const std::vector<T> values = elements_of<T>(bytes);
  return {values.begin(), values.end()};
}
template <typename T>
std::vector<std::uint8_t> bytes_of(const std::vector<T>& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Empty when there is no such placeholder.
Result<std::vector<float>> values_of(const space::ComputeDag& dag, const char* name) {
  const space::Stage* stage = dag.find(std::string(name));
  if (stage == nullptr) return std::vector<float>{};
  auto bytes = space::filled(stage->buffer, stage->fill);
  if (!bytes) return std::move(bytes).error();
  return as_floats(*bytes, stage->buffer->type.scalar);
}

std::optional<LayerKind> kind_of(const std::string& op) {
  if (op == "conv2d" || op == "depthwise_conv2d" || op == "conv3d") return LayerKind::Convolution;
  if (op == "dense") return LayerKind::Dense;
  if (op == "batch_matmul") return LayerKind::BatchMatmul;
  if (op == "softmax") return LayerKind::Softmax;
  if (op == "layer_norm") return LayerKind::LayerNorm;
  return std::nullopt;
}

Result<void> check_supported(const space::Workload& workload, const nlohmann::json& fields) {
  const auto refuse = [&](const std::string& what) {
    return Error{ErrorCode::Unsupported, "no peer for " + what, {}};
  };
  if (!workload.call()) return refuse("a DAG that no operator wrote");
  const auto kind = kind_of(workload.call()->op());
  if (!kind) return refuse(workload.call()->op());
  const std::string dtype = fields.value("dtype", "?");
  if (dtype != "float32" && dtype != "float16" && dtype != "int8") return refuse(dtype);
  if (*kind != LayerKind::Convolution && *kind != LayerKind::Dense &&
      !workload.call()->tail().empty()) {
    return refuse("a tail of " + workload.call()->op());
  }
  int done = 0;
  for (const std::string& step : workload.call()->tail()) {
    const int place = step == "bias"                     ? 1
                      : step == "add"                    ? 2
                      : step == "relu" || step == "gelu" ? 3
                                                         : 0;
    if (place <= done) return refuse("the tail step " + step + " in this place");
    done = place;
  }
  return {};
}

// Extents and window of a convolution.
void fill_shape(const space::Workload& workload, const std::vector<std::int64_t>& out,
                Layer& layer) {
  Shape& shape = layer.shape;
  const bool depthwise = workload.call()->op() == "depthwise_conv2d";
  layer.volume = workload.call()->op() == "conv3d";
  shape.height = workload.call()->integer("height");
  shape.width = workload.call()->integer("width");
  shape.in_channels = workload.call()->integer(depthwise ? "channels" : "in_channels");
  // With groups they are two axes of the DAG's output.
  shape.out_channels = workload.call()->integer(depthwise ? "channels" : "out_channels");
  shape.groups = depthwise      ? shape.in_channels
                 : layer.volume ? 1
                                : workload.call()->integer("groups");
  const std::size_t y = layer.channels_first ? out.size() - 2 : layer.volume ? 2 : 1;
  shape.out_height = out.at(y);
  shape.out_width = out.at(y + 1);
  if (!layer.volume) {
    shape.kernel = workload.call()->pair("kernel");
    shape.stride = workload.call()->pair("stride");
    shape.pad = workload.call()->pair("pad");
    shape.dilation = workload.call()->pair("dilation");
    return;
  }
  shape.depth = workload.call()->integer("depth");
  shape.out_depth = out.at(1);
  const auto cut = [&](const char* name, std::int64_t& deep, std::array<std::int64_t, 2>& flat) {
    const auto all = workload.call()->list(name);
    deep = all[0], flat = {all[1], all[2]};
  };
  cut("kernel", shape.deep_kernel, shape.kernel);
  cut("stride", shape.deep_stride, shape.stride);
  cut("pad", shape.deep_pad, shape.pad);
  cut("dilation", shape.deep_dilation, shape.dilation);
}

}  // namespace

LayerGroup group_of(const space::Workload& workload) {
  if (!workload.call()) return LayerGroup::Others;
  const std::string& op = workload.call()->op();
  if (op.find("conv") != op.npos) return LayerGroup::Convolutions;
  return op == "dense" || op == "batch_matmul" ? LayerGroup::Products : LayerGroup::Others;
}

const char* name_of(LayerGroup group) {
  if (group == LayerGroup::Convolutions) return "convolutions";
  return group == LayerGroup::Products ? "products" : "others";
}

Result<Layer> make_layer(const space::Workload& workload) {
  const nlohmann::json fields = nlohmann::json::parse(workload.source());
  if (auto supported = check_supported(workload, fields); !supported) return supported.error();
  const space::ComputeDag dag = workload.dag();
  const std::vector<std::int64_t>& out = dag.stages.back().buffer->shape;
  Layer layer{.workload = workload, .kind = *kind_of(workload.call()->op())};
  layer.int8 = workload.scalar() == ir::Scalar::Int8;
  layer.half = workload.scalar() == ir::Scalar::Float16;
  layer.relu = workload.call()->has_tail("relu");
  layer.gelu = workload.call()->has_tail("gelu");
  Shape& shape = layer.shape;
  shape.batch = out.front();
  shape.out_channels = out.back();
  switch (layer.kind) {
    case LayerKind::Convolution:
      layer.channels_first = fields.value("layout", "") == "NCHW";
      fill_shape(workload, out, layer);
      break;
    case LayerKind::Dense:
      shape.in_channels = workload.call()->integer("in_features");
      break;
    case LayerKind::BatchMatmul:
      shape.height = shape.out_height = workload.call()->integer("m");
      shape.in_channels = workload.call()->integer("k");
      break;
    case LayerKind::Softmax:
    case LayerKind::LayerNorm:
      shape.in_channels = out.back();
  }
  struct Tensor {
    const char* stage;
    std::vector<float>* to;
  };
  for (const auto& [stage, to] : {Tensor{"input", &layer.input}, Tensor{"weight", &layer.weight},
                                  Tensor{"bias", &layer.bias}, Tensor{"residual", &layer.residual},
                                  Tensor{"input_b", &layer.weight}, Tensor{"shift", &layer.bias}}) {
    auto values = values_of(dag, stage);
    if (!values) return std::move(values).error();
    if (!values->empty()) *to = std::move(*values);
  }
  auto expected = space::evaluate(dag);
  if (!expected) return std::move(expected).error();
  layer.our_expected = as_floats(expected->front().bytes, expected->front().type.scalar);
  layer.tolerance = expected->front().tolerance;
  const space::Stage* weight = dag.find(std::string("weight"));
  if (layer.int8 && weight != nullptr) {
    std::transform(layer.weight.begin(), layer.weight.end(), layer.weight.begin(), peer_weight);
    const auto bytes = as_bytes(layer.weight, weight->buffer->type.scalar);
    expected = space::evaluate(dag, {}, {{weight->buffer, bytes}});
    if (!expected) return std::move(expected).error();
  }
  layer.expected = as_floats(expected->front().bytes, expected->front().type.scalar);
  return layer;
}

std::vector<float> as_floats(const std::vector<std::uint8_t>& bytes, ir::Scalar type) {
  if (type == ir::Scalar::Int8) return converted<std::int8_t>(bytes);
  if (type == ir::Scalar::Int32) return converted<std::int32_t>(bytes);
  if (type != ir::Scalar::Float16) return converted<float>(bytes);
  std::vector<float> values;
  for (const std::uint16_t half : elements_of<std::uint16_t>(bytes)) {
    values.push_back(float_of_half(half));
  }
  return values;
}

std::vector<std::uint8_t> as_bytes(const std::vector<float>& values, ir::Scalar type) {
  if (type == ir::Scalar::Int8) {
    return bytes_of(std::vector<std::int8_t>(values.begin(), values.end()));
  }
  if (type == ir::Scalar::Int32) {
    return bytes_of(std::vector<std::int32_t>(values.begin(), values.end()));
  }
  if (type != ir::Scalar::Float16) return bytes_of(values);
  std::vector<std::uint16_t> halves;
  for (const float value : values) halves.push_back(half_of(value));
  return bytes_of(halves);
}

ir::Scalar output_type(const Layer& layer) {
  return layer.int8 ? ir::Scalar::Int32 : layer.half ? ir::Scalar::Float16 : ir::Scalar::Float32;
}

std::string wrong_answer(const std::vector<float>& output, const Layer& layer) {
  if (output.size() != layer.expected.size()) return "its output has another size";
  double largest = 0, off = 0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    const double difference = std::fabs(double{output[i]} - double{layer.expected[i]});
    if (std::isnan(difference)) return "its output holds NaN";
    largest = std::max(largest, std::fabs(double{layer.expected[i]}));
    off = std::max(off, difference);
  }
  if (off <= (layer.half ? kHalfPeerTolerance : kPeerTolerance) * largest) return "";
  return fmt::format("its output is off by {:.3g}, where values go up to {:.3g}", off, largest);
}

}  // namespace fettle::bench
