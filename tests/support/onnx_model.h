// ONNX files as tests state them.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "host/model/onnx/import.h"
#include "host/model/onnx/onnx_proto.h"
#include "tests/support/running_program.h"

namespace fettle::testing {

class OnnxModel {
 public:
  OnnxModel() {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(13);
    model_.mutable_graph()->set_name("test");
  }
  void input(const std::string& name, const std::vector<std::int64_t>& shape) {
    describe(*model_.mutable_graph()->add_input(), name, shape);
  }
  void output(const std::string& name) {
    describe(*model_.mutable_graph()->add_output(), name, {1});
  }
  // Numbers from `low` to `low` + 1.
  void weights(const std::string& name, const std::vector<std::int64_t>& shape, float low = -0.5) {
    onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) tensor.add_dims(extent), count *= extent;
    std::uniform_real_distribution<float> numbers(low, low + 1);
    for (std::int64_t i = 0; i < count; ++i) tensor.add_float_data(numbers(random_));
  }
  // A constant, the same number everywhere.
  void numbers(const std::string& name, const std::vector<std::int64_t>& shape, float number) {
    onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) tensor.add_dims(extent), count *= extent;
    for (std::int64_t i = 0; i < count; ++i) tensor.add_float_data(number);
  }
  // A constant of int64.
  void whole_numbers(const std::string& name, const std::vector<std::int64_t>& shape,
                     const std::vector<std::int64_t>& numbers) {
    onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    for (const std::int64_t extent : shape) tensor.add_dims(extent);
    for (const std::int64_t number : numbers) tensor.add_int64_data(number);
  }
  // The type of the last input.
  void of_type(int type) {
    auto& inputs = *model_.mutable_graph()->mutable_input();
    inputs.rbegin()->mutable_type()->mutable_tensor_type()->set_elem_type(type);
  }
  static void word(onnx::NodeProto& node, const std::string& name, const std::string& value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(value);
  }
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::string& out) {
    onnx::NodeProto& node = *model_.mutable_graph()->add_node();
    node.set_op_type(op);
    for (const std::string& name : inputs) node.add_input(name);
    node.add_output(out);
    return node;
  }
  void norm(const std::string& in, std::int64_t channels, const std::string& out) {
    for (const char* part : {".gamma", ".beta", ".mean"}) weights(out + part, {channels});
    weights(out + ".variance", {channels}, 0.5);
    node("BatchNormalization",
         {in, out + ".gamma", out + ".beta", out + ".mean", out + ".variance"}, out);
  }
  static void integers(onnx::NodeProto& node, const std::string& name,
                       const std::vector<std::int64_t>& list) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t i : list) attribute.add_ints(i);
  }
  static void integer(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }
  static void number(onnx::NodeProto& node, const std::string& name, float value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(value);
  }
  void opset(std::int64_t version) { model_.mutable_opset_import(0)->set_version(version); }
  onnx::ModelProto& proto() { return model_; }
  std::string text() const { return model_.SerializeAsString(); }

 private:
  static void describe(onnx::ValueInfoProto& info, const std::string& name,
                       const std::vector<std::int64_t>& shape) {
    info.set_name(name);
    auto* tensor = info.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(onnx::TensorProto::FLOAT);
    tensor->mutable_shape();
    for (const std::int64_t extent : shape) {
      auto* dim = tensor->mutable_shape()->add_dim();
      if (extent > 0) dim->set_dim_value(extent);
      if (extent < 0) dim->set_dim_param("batch");
    }
  }
  onnx::ModelProto model_;
  std::mt19937 random_{7};
};

class OnnxNetworkTest : public ::testing::Test {
 protected:
  Result<model::Graph> imported(const std::string& text, const model::OnnxOptions& options = {}) {
    const std::string path = folder.file("model.onnx");
    std::ofstream(path, std::ios::binary) << text;
    return model::import_onnx(path, options);
  }
  ScratchFolder folder;
};

// Two convolutions with norms, the first one's output added to the second's; a norm that follows no
// convolution.
inline OnnxModel residual_network() {
  OnnxModel model;
  model.input("x", {1, 8, 6, 6});
  model.weights("w1", {8, 8, 3, 3});
  model.weights("w2", {8, 8, 1, 1});
  OnnxModel::integers(model.node("Conv", {"x", "w1"}, "c1"), "pads", {1, 1, 1, 1});
  model.norm("c1", 8, "n1");
  model.node("Relu", {"n1"}, "r1");
  model.node("Conv", {"r1", "w2"}, "c2");
  model.norm("c2", 8, "n2");
  model.node("Add", {"n2", "x"}, "s");
  model.node("Relu", {"s"}, "r2");
  model.norm("r2", 8, "n3");
  model.output("n3");
  return model;
}

}  // namespace fettle::testing
