// From a graph to an ONNX file (export.h).
#include "host/model/onnx/export.h"

#include <map>
#include <unordered_set>

#include "host/model/onnx/node_reader.h"
#include "host/process/replace_file.h"

namespace fettle::model {
namespace {

using nlohmann::json;

// Operators whose attributes are ONNX's, but for those that are inputs there.
struct Row {
  const char* op;
  std::vector<const char*> inputs;   // attributes that become inputs, in this order
  std::vector<const char*> dropped;  // attributes that opset 17 lacks
};
const Row* row_of(const std::string& op) {
  static const std::vector<Row> kRows = {
      {"Add", {}, {}},
      {"AveragePool", {}, {"dilations"}},
      {"BatchNormalization", {}, {}},
      {"Clip", {"min", "max"}, {}},
      {"Concat", {}, {}},
      {"Conv", {}, {}},
      {"DequantizeLinear", {}, {}},
      {"Flatten", {}, {}},
      {"Gemm", {}, {}},
      {"Identity", {}, {}},
      {"MatMul", {}, {}},
      {"MaxPool", {}, {}},
      {"Mul", {}, {}},
      {"QuantizeLinear", {}, {"to"}},
      {"ReduceMean", {}, {"noop_with_empty_axes"}},
      {"Relu", {}, {}},
      {"Reshape", {"shape"}, {}},
      {"Sigmoid", {}, {}},
      {"Softmax", {}, {}},
      {"Transpose", {}, {}},
  };
  for (const Row& row : kRows) {
    if (op == row.op) return &row;
  }
  return nullptr;
}

// Null: none.
const Row* writable(const Graph& graph, const Node& node) {
  const bool whole = node.op == "Clip" && graph.type(node.inputs[0]).scalar != ir::Scalar::Float32;
  return whole ? nullptr : row_of(node.op);
}

int data_type(ir::Scalar scalar) {
  for (int type = 1; type <= 16; ++type) {
    const auto known = scalar_of(type);
    if (known && *known == scalar) return type;
  }
  return onnx::TensorProto::UNDEFINED;
}

void set_attribute(onnx::NodeProto& node, const std::string& name, const json& value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  if (value.is_string()) {
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(value.get<std::string>());
  } else if (value.is_number_integer()) {
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value.get<std::int64_t>());
  } else if (value.is_number()) {
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(value.get<float>());
  } else {
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const json& one : value) attribute.add_ints(one.get<std::int64_t>());
  }
}

class Exporter {
 public:
  explicit Exporter(const Graph& graph) : graph_(graph) {
    for (const Value& value : graph.values) {
      std::string name = value.name;
      for (int i = 1; !taken_.insert(name).second; ++i) name = value.name + "_" + std::to_string(i);
      names_.push_back(name);
    }
  }

  Result<onnx::ModelProto> run() {
    model_.set_ir_version(8);
    model_.set_producer_name("fettle");
    model_.add_opset_import()->set_version(17);
    to().set_name(graph_.name);
    for (const ValueId id : graph_.inputs) describe(*to().add_input(), id);
    for (const ValueId id : graph_.outputs) describe(*to().add_output(), id);
    std::vector<bool> read(graph_.values.size());
    for (const Node& node : graph_.nodes) {
      for (const ValueId id : node.inputs) {
        if (id != kNoValue) read[id] = true;
      }
    }
    for (const ValueId id : graph_.outputs) read[id] = true;
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
      const Value& value = graph_.values[id];
      if (value.constant && read[id]) add_constant(names_[id], value.type, *value.constant);
    }
    for (const Node& node : graph_.nodes) {
      if (auto added = add(node); !added) return std::move(added).error();
    }
    return std::move(model_);
  }

 private:
  onnx::GraphProto& to() { return *model_.mutable_graph(); }

  void describe(onnx::ValueInfoProto& info, ValueId id) {
    info.set_name(names_[id]);
    auto* tensor = info.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(data_type(graph_.type(id).scalar));
    for (const std::int64_t extent : graph_.type(id).shape) {
      tensor->mutable_shape()->add_dim()->set_dim_value(extent);
    }
  }

  void add_constant(const std::string& name, const TensorType& type,
                    const std::vector<std::uint8_t>& bytes) {
    onnx::TensorProto& tensor = *to().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(data_type(type.scalar));
    for (const std::int64_t extent : type.shape) tensor.add_dims(extent);
    tensor.set_raw_data(bytes.data(), bytes.size());
  }

  // A parameter: a list of whole numbers, or one number of the type that the node is of.
  std::string parameter(const std::string& name, const json& value) {
    const auto add_bytes = [&](const TensorType& type, const void* data, std::size_t size) {
      const auto* bytes = static_cast<const std::uint8_t*>(data);
      add_constant(name, type, {bytes, bytes + size});
    };
    if (value.is_array()) {
      const auto list = value.get<std::vector<std::int64_t>>();
      add_bytes({ir::Scalar::Int64, {static_cast<std::int64_t>(list.size())}}, list.data(),
                list.size() * sizeof list[0]);
    } else {
      const float number = value.get<float>();
      add_bytes({ir::Scalar::Float32, {}}, &number, sizeof number);
    }
    return name;
  }

  // Nodes of ONNX have none of each other's names.
  std::string unique_name(const std::string& name) {
    std::string unique = name;
    for (int i = 2; !name.empty() && !nodes_.insert(unique).second; ++i) {
      unique = name + "_" + std::to_string(i);
    }
    return unique;
  }

  Result<void> add(const Node& node) {
    const Row* row = writable(graph_, node);
    if (!row) return Error{ErrorCode::Unsupported, node.op + " cannot be written as ONNX yet"};
    onnx::NodeProto& out = *to().add_node();
    out.set_op_type(node.op);
    out.set_name(unique_name(node.name));
    for (const ValueId id : node.inputs) out.add_input(id == kNoValue ? "" : names_[id]);
    for (const ValueId id : node.outputs) out.add_output(names_[id]);
    if (is_global_mean(node)) {
      out.set_op_type("GlobalAveragePool");
      return {};
    }
    for (const auto& [name, value] : node.attributes.items()) {
      const auto is = [&](const char* other) { return name == other; };
      if (std::any_of(row->dropped.begin(), row->dropped.end(), is)) continue;
      if (std::any_of(row->inputs.begin(), row->inputs.end(), is)) continue;
      set_attribute(out, name, value);
    }
    for (const char* name : row->inputs) {
      out.add_input(parameter(names_[node.outputs.front()] + "." + name, node.attributes.at(name)));
    }
    return {};
  }

  // What others have one operator for.
  bool is_global_mean(const Node& node) const {
    return node.op == "ReduceMean" && graph_.type(node.inputs[0]).shape.size() == 4 &&
           node.attributes.at("axes") == json({2, 3}) && node.attributes.at("keepdims") == 1;
  }

  const Graph& graph_;
  std::vector<std::string> names_;
  std::unordered_set<std::string> taken_, nodes_;  // names of values, of nodes
  onnx::ModelProto model_;
};

}  // namespace

Result<void> export_onnx(const Graph& graph, const std::string& path) {
  auto model = Exporter(graph).run();
  if (!model) return std::move(model).error();
  return write_model(*model, path);
}

Result<void> check_onnx_exportable(const Graph& graph) {
  std::map<std::string, std::string> unknown;  // operators, and a node of each
  for (const Node& node : graph.nodes) {
    if (writable(graph, node)) continue;
    unknown.try_emplace(node.op, graph.values[node.outputs.front()].name);
  }
  if (unknown.empty()) return {};
  std::string text;
  for (const auto& [op, value] : unknown) {
    text += (text.empty() ? "" : ", ") + op + " (" + value + ")";
  }
  return Error{ErrorCode::Unsupported, "operators that cannot be written as ONNX yet: " + text};
}

Result<void> write_model(const onnx::ModelProto& model, const std::string& path) {
  return process::replace_file(path, [&](std::ostream& out) -> Result<void> {
    if (out.good() && !model.SerializeToOstream(&out) && out.good())
      return Error{ErrorCode::Internal, "an ONNX model over 2 GiB cannot be written"};
    return {};
  });
}

}  // namespace fettle::model
