// Making layers from compute DAGs (layer.h).
#include "tests/bench/kernels/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "host/space/reference.h"
#include "host/space/workload.h"

namespace fettle::bench {
namespace {

// How far an output may be from the expected one, as a share of its largest value:
// room for a Winograd transform's cancellation.
constexpr double kPeerTolerance = 1e-3;

template <typename T>
std::vector<float> converted(const std::vector<std::uint8_t>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return {values.begin(), values.end()};
}

std::vector<float> as_floats(const std::vector<std::uint8_t>& bytes, ir::DataType type) {
  if (type.scalar == ir::Scalar::Int8) return converted<std::int8_t>(bytes);
  if (type.scalar == ir::Scalar::Int32) return converted<std::int32_t>(bytes);
  return converted<float>(bytes);
}

// Empty when there is no such placeholder.
Result<std::vector<float>> values_of(const space::ComputeDag& dag, const char* name) {
  const space::Stage* stage = dag.find(std::string(name));
  if (stage == nullptr) return std::vector<float>{};
  auto bytes = space::filled(stage->buffer, stage->fill);
  if (!bytes) return std::move(bytes).error();
  return as_floats(*bytes, stage->buffer->type);
}

Result<void> check_supported(const space::Workload& workload, const nlohmann::json& fields) {
  const auto refuse = [&](const std::string& what) {
    return Error{ErrorCode::Unsupported, "no peer for " + what, {}};
  };
  const std::string& op = workload.call()->op();
  if (op != "conv2d" && op != "depthwise_conv2d" && op != "dense") return refuse(op);
  const std::string dtype = fields.value("dtype", "?");
  if (dtype != "float32" && dtype != "int8") return refuse(dtype);
  std::size_t done = 0;
  for (const std::string& step : workload.call()->tail()) {
    constexpr const char* kSteps[] = {"bias", "add", "relu"};
    while (done < 3 && step != kSteps[done]) ++done;
    if (done++ == 3) return refuse("the tail step " + step + " in this place");
  }
  return {};
}

}  // namespace

Result<Layer> make_layer(const space::Workload& workload) {
  const nlohmann::json fields = nlohmann::json::parse(workload.canonical());
  if (auto supported = check_supported(workload, fields); !supported) return supported.error();
  const space::ComputeDag dag = workload.dag();
  const std::vector<std::int64_t>& out = dag.stages.back().buffer->shape;
  Layer layer{.workload = workload, .dense = workload.call()->op() == "dense"};
  layer.int8 = workload.scalar() == ir::Scalar::Int8;
  layer.relu = workload.call()->has_tail("relu");
  Shape& shape = layer.shape;
  shape.batch = out.front();
  // With groups they are two axes of the DAG's output.
  const bool depthwise = workload.call()->op() == "depthwise_conv2d";
  shape.out_channels = depthwise ? workload.call()->integer("channels") : out.back();
  if (workload.call()->op() == "conv2d")
    shape.out_channels = workload.call()->integer("out_channels");
  if (layer.dense) {
    shape.in_channels = workload.call()->integer("in_features");
  } else {
    layer.channels_first = fields.value("layout", "") == "NCHW";
    shape.height = workload.call()->integer("height");
    shape.width = workload.call()->integer("width");
    shape.in_channels = workload.call()->integer(depthwise ? "channels" : "in_channels");
    shape.groups = depthwise ? shape.in_channels : workload.call()->integer("groups");
    shape.out_height = out.at(layer.channels_first ? out.size() - 2 : 1);
    shape.out_width = out.at(layer.channels_first ? out.size() - 1 : 2);
    shape.kernel = workload.call()->pair("kernel");
    shape.stride = workload.call()->pair("stride");
    shape.pad = workload.call()->pair("pad");
    shape.dilation = workload.call()->pair("dilation");
  }
  struct Tensor {
    const char* stage;
    std::vector<float>* to;
  };
  for (const auto& [stage, to] :
       {Tensor{"input", &layer.input}, Tensor{"weight", &layer.weight}, Tensor{"bias", &layer.bias},
        Tensor{"residual", &layer.residual}}) {
    auto values = values_of(dag, stage);
    if (!values) return std::move(values).error();
    *to = std::move(*values);
  }
  auto expected = space::evaluate(dag);
  if (!expected) return std::move(expected).error();
  layer.expected = as_floats(expected->front().bytes, expected->front().type);
  layer.tolerance = expected->front().tolerance;
  return layer;
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
  if (off <= kPeerTolerance * largest) return "";
  return fmt::format("its output is off by {:.3g}, where values go up to {:.3g}", off, largest);
}

}  // namespace fettle::bench
