// NetworkWriter (network_writer.h).
#include "host/model/zoo/network_writer.h"

#include <cmath>
#include <random>

#include "host/model/onnx/export.h"
#include "host/model/onnx/onnx_proto.h"

namespace fettle::model {
namespace {

constexpr std::int64_t kOpset = 17;

void integer(onnx::NodeProto& node, const char* name, std::int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

void integers(onnx::NodeProto& node, const char* name, const std::vector<std::int64_t>& list) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : list) attribute.add_ints(value);
}

void window_attributes(onnx::NodeProto& node, const NetworkWriter::Window& window) {
  integers(node, "kernel_shape", {window.kernel[0], window.kernel[1]});
  integers(node, "strides", {window.stride, window.stride});
  integers(node, "pads", {window.pad[0], window.pad[1], window.pad[0], window.pad[1]});
}

void describe(onnx::ValueInfoProto& info, const std::string& name,
              const NetworkWriter::Shape& shape) {
  info.set_name(name);
  auto* tensor = info.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t extent : shape) {
    tensor->mutable_shape()->add_dim()->set_dim_value(extent);
  }
}

}  // namespace

struct NetworkWriter::Parts {
  onnx::ModelProto model;
  std::mt19937_64 random;

  onnx::GraphProto& graph() { return *model.mutable_graph(); }
  // A node of one output, which is named by its operator and number.
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs) {
    onnx::NodeProto& node = *graph().add_node();
    const std::string name = op + "_" + std::to_string(graph().node_size());
    node.set_op_type(op);
    node.set_name(name);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(name + ".y");
    return node;
  }
  onnx::TensorProto& tensor(const std::string& what, const Shape& shape, int type) {
    onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(what + "_" + std::to_string(graph().initializer_size()));
    tensor.set_data_type(type);
    for (const std::int64_t extent : shape) tensor.add_dims(extent);
    return tensor;
  }
};

NetworkWriter::NetworkWriter(const std::string& name, std::uint64_t seed)
    : parts_(std::make_unique<Parts>()) {
  parts_->model.set_ir_version(8);
  parts_->model.set_producer_name("fettle zoo");
  parts_->model.add_opset_import()->set_version(kOpset);
  parts_->graph().set_name(name);
  parts_->random.seed(seed);
}

NetworkWriter::~NetworkWriter() = default;

std::string NetworkWriter::weights(const std::string& what, const Shape& shape, double middle,
                                   double spread) {
  onnx::TensorProto& tensor = parts_->tensor(what, shape, onnx::TensorProto::FLOAT);
  std::size_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    // Of the generator's bits alone: the standard's distributions differ between libraries.
    const double unit = static_cast<double>(parts_->random() >> 40) * 0x1p-23 - 1;
    number = static_cast<float>(middle + spread * unit);
  }
  tensor.set_raw_data(numbers.data(), count * sizeof numbers[0]);
  return tensor.name();
}

NetworkWriter::Tensor NetworkWriter::input(const std::string& name, const Shape& shape,
                                           std::int64_t channels) {
  describe(*parts_->graph().add_input(), name, shape);
  return {name, channels};
}

NetworkWriter::Tensor NetworkWriter::conv(const Tensor& x, std::int64_t channels,
                                          const Window& window, bool bias) {
  const std::int64_t each = x.channels / window.groups;
  const double terms = static_cast<double>(each * window.kernel[0] * window.kernel[1]);
  std::vector<std::string> inputs = {
      x.name, weights("weight", {channels, each, window.kernel[0], window.kernel[1]}, 0,
                      std::sqrt(6 / terms))};
  if (bias) inputs.push_back(weights("bias", {channels}, 0, 0.1));
  onnx::NodeProto& node = parts_->node("Conv", inputs);
  window_attributes(node, window);
  if (window.groups > 1) integer(node, "group", window.groups);
  return {node.output(0), channels};
}

NetworkWriter::Tensor NetworkWriter::batch_norm(const Tensor& x) {
  const Shape each = {x.channels};
  const std::string gamma = weights("gamma", each, 0.75, 0.25),
                    beta = weights("beta", each, 0, 0.1);
  const std::string mean = weights("mean", each, 0, 0.1);
  const std::string variance = weights("variance", each, 1, 0.5);
  return {parts_->node("BatchNormalization", {x.name, gamma, beta, mean, variance}).output(0),
          x.channels};
}

NetworkWriter::Tensor NetworkWriter::max_pool(const Tensor& x, const Window& window,
                                              bool round_up) {
  onnx::NodeProto& node = parts_->node("MaxPool", {x.name});
  window_attributes(node, window);
  if (round_up) integer(node, "ceil_mode", 1);
  return {node.output(0), x.channels};
}

NetworkWriter::Tensor NetworkWriter::average_pool(const Tensor& x, const Window& window) {
  onnx::NodeProto& node = parts_->node("AveragePool", {x.name});
  window_attributes(node, window);
  return {node.output(0), x.channels};
}

NetworkWriter::Tensor NetworkWriter::dense(const Tensor& x, std::int64_t features) {
  const double spread = std::sqrt(3.0 / static_cast<double>(x.channels));
  const std::string weight = weights("weight", {features, x.channels}, 0, spread);
  onnx::NodeProto& node =
      parts_->node("Gemm", {x.name, weight, weights("bias", {features}, 0, 0.1)});
  integer(node, "transB", 1);
  return {node.output(0), features};
}

NetworkWriter::Tensor NetworkWriter::projection(const Tensor& x, std::int64_t features) {
  const double spread = std::sqrt(3.0 / static_cast<double>(x.channels));
  const std::string weight = weights("weight", {x.channels, features}, 0, spread);
  const std::string product = parts_->node("MatMul", {x.name, weight}).output(0);
  return {parts_->node("Add", {product, weights("bias", {features}, 0, 0.1)}).output(0), features};
}

NetworkWriter::Tensor NetworkWriter::layer_norm(const Tensor& x) {
  const std::string gamma = weights("gamma", {x.channels}, 0.75, 0.25);
  onnx::NodeProto& node =
      parts_->node("LayerNormalization", {x.name, gamma, weights("beta", {x.channels}, 0, 0.1)});
  integer(node, "axis", -1);
  return {node.output(0), x.channels};
}

NetworkWriter::Tensor NetworkWriter::concat(const std::vector<Tensor>& parts) {
  std::vector<std::string> names;
  std::int64_t channels = 0;
  for (const Tensor& part : parts) names.push_back(part.name), channels += part.channels;
  onnx::NodeProto& node = parts_->node("Concat", names);
  integer(node, "axis", 1);
  return {node.output(0), channels};
}

NetworkWriter::Tensor NetworkWriter::constant(float value) {
  onnx::TensorProto& tensor = parts_->tensor("number", {}, onnx::TensorProto::FLOAT);
  tensor.set_raw_data(&value, sizeof value);
  return {tensor.name(), 0};
}

NetworkWriter::Tensor NetworkWriter::clip(const Tensor& x, float low, float high) {
  const std::string bounds[] = {constant(low).name, constant(high).name};
  return {parts_->node("Clip", {x.name, bounds[0], bounds[1]}).output(0), x.channels};
}

NetworkWriter::Tensor NetworkWriter::reshape(const Tensor& x, const Shape& shape) {
  onnx::TensorProto& list =
      parts_->tensor("shape", {static_cast<std::int64_t>(shape.size())}, onnx::TensorProto::INT64);
  list.set_raw_data(shape.data(), shape.size() * sizeof shape[0]);
  return {parts_->node("Reshape", {x.name, list.name()}).output(0), shape.back()};
}

NetworkWriter::Tensor NetworkWriter::transpose(const Tensor& x, const Shape& order) {
  onnx::NodeProto& node = parts_->node("Transpose", {x.name});
  integers(node, "perm", order);
  return {node.output(0), x.channels};
}

NetworkWriter::Tensor NetworkWriter::plain(const std::string& op,
                                           const std::vector<Tensor>& inputs) {
  std::vector<std::string> names;
  for (const Tensor& input : inputs) names.push_back(input.name);
  return {parts_->node(op, names).output(0), inputs.front().channels};
}

NetworkWriter::Tensor NetworkWriter::softmax(const Tensor& x) {
  onnx::NodeProto& node = parts_->node("Softmax", {x.name});
  integer(node, "axis", -1);
  return {node.output(0), x.channels};
}

Result<void> NetworkWriter::save(const Tensor& output, const Shape& shape,
                                 const std::string& path) {
  describe(*parts_->graph().add_output(), output.name, shape);
  return write_model(parts_->model, path);
}

}  // namespace fettle::model
