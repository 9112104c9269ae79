// From a graph to an ONNX file (export.h).
#include "host/model/onnx/export.h"

#include <map>
#include <unordered_set>

#include "host/model/onnx/export_rows.h"
#include "host/model/onnx/node_reader.h"
#include "host/process/replace_file.h"

namespace fettle::model {
namespace {

using nlohmann::json;

// Operators that take float32 alone there, or here: what is written beside them is of float32.
bool is_float32_only(const std::string& op) {
  return op == "Clip" || op == "Pad" || op == "Pow" || export_steps(op) != nullptr;
}

bool is_written_by_hand(const std::string& op) {
  for (const char* one :
       {"Cast", "DivideBy", "ExtremePlace", "Gather", "GridSample", "PlacesOfRanks", "Ranks",
        "Resize", "ResizeNearest", "ResizeSmooth", "RestOf", "Slice"}) {
    if (op == one) return true;
  }
  return false;
}

bool is_writable(const Graph& graph, const Node& node) {
  if (is_float32_only(node.op) && graph.type(node.inputs[0]).scalar != ir::Scalar::Float32) {
    return false;
  }
  if (node.op == "AveragePool") {  // opset 19 has its dilations
    for (const json& dilation : node.attributes.at("dilations")) {
      if (dilation != 1) return false;
    }
  }
  return is_written_by_hand(node.op) || export_steps(node.op) || export_row(node.op);
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
    tensor->mutable_shape();  // there, too, where it has no axes
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

  // A parameter: whole numbers as int64, a list or one; or a float32.
  std::string parameter(const std::string& name, const json& value) {
    const auto add_bytes = [&](const TensorType& type, const void* data, std::size_t size) {
      const auto* bytes = static_cast<const std::uint8_t*>(data);
      add_constant(name, type, {bytes, bytes + size});
    };
    if (value.is_array()) {
      const auto list = value.get<std::vector<std::int64_t>>();
      add_bytes({ir::Scalar::Int64, {static_cast<std::int64_t>(list.size())}}, list.data(),
                list.size() * sizeof list[0]);
    } else if (value.is_number_integer()) {
      const auto number = value.get<std::int64_t>();
      add_bytes({ir::Scalar::Int64, {}}, &number, sizeof number);
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

  onnx::NodeProto& begin(const Node& node, const std::string& op) {
    onnx::NodeProto& out = *to().add_node();
    out.set_op_type(op);
    out.set_name(unique_name(node.name));
    return out;
  }

  Result<void> add(const Node& node) {
    if (!is_writable(graph_, node)) {
      return Error{ErrorCode::Unsupported, node.op + " cannot be written as ONNX yet"};
    }
    if (node.op == "Ranks") return {};  // written with what reads them
    if (node.op == "PlacesOfRanks") return add_places_of_ranks(node);
    if (const auto* steps = export_steps(node.op)) {
      add_steps(node, *steps);
      return {};
    }
    const bool by_hand = is_written_by_hand(node.op);
    const ExportRow* row = by_hand ? nullptr : export_row(node.op);
    onnx::NodeProto& out = begin(node, row && row->as ? row->as : node.op);
    for (const ValueId id : node.inputs) out.add_input(id == kNoValue ? "" : names_[id]);
    for (const ValueId id : node.outputs) out.add_output(names_[id]);
    if (by_hand) {
      write_by_hand(node, out);
      return {};
    }
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
      const json& value = node.attributes.at(name);
      if (node.op == "Squeeze" && value.empty()) continue;  // all that can be
      out.add_input(parameter(of(node, name), value));
    }
    return {};
  }

  Result<void> add_places_of_ranks(const Node& node) {
    const auto ranks = std::find_if(graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& one) {
      return one.op == "Ranks" && one.outputs.front() == node.inputs.front();
    });
    if (ranks == graph_.nodes.end()) {
      return Error{ErrorCode::Unsupported,
                   node.op + " without its ranks cannot be written as ONNX"};
    }
    onnx::NodeProto& out = begin(node, "TopK");
    out.add_input(names_[ranks->inputs.front()]);
    out.add_input(parameter(of(node, "k"), json::array({node.attributes.at("k")})));
    set_attribute(out, "axis", node.attributes.at("axis"));
    set_attribute(out, "largest", ranks->attributes.at("largest"));
    out.add_output(of(node, "values"));
    out.add_output(names_[node.outputs.front()]);
    return {};
  }

  std::string of(const Node& node, const std::string& part) {
    std::string name = names_[node.outputs.front()] + "." + part;
    while (!taken_.insert(name).second) name += "_";
    return name;
  }

  void add_steps(const Node& node, const std::vector<ExportStep>& steps) {
    std::map<std::string, std::string> values = {{"x", names_[node.inputs[0]]},
                                                 {"y", names_[node.outputs[0]]}};
    const std::map<std::string, double> numbers = {
        {"one", 1}, {"two", 2}, {"root", 1.41421356237309505}};
    for (const ExportStep& step : steps) {
      onnx::NodeProto& out = begin(node, step.op);
      for (const char* input : step.inputs) {
        if (!values.count(input)) {
          values[input] = parameter(of(node, input), json(numbers.at(input)));
        }
        out.add_input(values[input]);
      }
      if (!values.count(step.output)) values[step.output] = of(node, step.output);
      out.add_output(values[step.output]);
    }
  }

  void write_by_hand(const Node& node, onnx::NodeProto& out) {
    const json& given = node.attributes;
    const auto add_list = [&](const char* name, const json& list) {
      out.add_input(parameter(of(node, name), list));
    };
    if (node.op == "Cast") {
      ir::Scalar scalar{};
      ir::parse_scalar(given.at("to"), scalar);
      set_attribute(out, "to", json(data_type(scalar)));
    } else if (node.op == "Gather") {
      const TensorType places{ir::Scalar::Int64, given.at("index_shape")};
      const auto list = given.at("indices").get<std::vector<std::int64_t>>();
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(list.data());
      const std::string name = of(node, "indices");
      add_constant(name, places, {bytes, bytes + list.size() * sizeof list[0]});
      out.add_input(name);
      set_attribute(out, "axis", given.at("axis"));
    } else if (node.op == "GridSample") {
      json words = given;
      if (words.at("mode") == "linear") words["mode"] = "bilinear";
      for (const auto& [name, value] : words.items()) set_attribute(out, name, value);
    } else if (node.op == "DivideBy" || node.op == "RestOf") {
      const auto by = given.at("by").get<std::int64_t>();
      const TensorType type{graph_.type(node.inputs.front()).scalar, {}};
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(&by);
      const std::string name = of(node, "by");
      add_constant(name, type, {bytes, bytes + ir::DataType{type.scalar}.bytes()});
      out.add_input(name);
      out.set_op_type(node.op == "RestOf" ? "Mod" : "Div");
      if (node.op == "RestOf") set_attribute(out, "fmod", given.at("fmod"));
    } else if (node.op == "ExtremePlace") {
      // With the extremes, which it finds itself there.
      out.set_op_type(given.at("smallest") == 1 ? "ArgMin" : "ArgMax");
      out.mutable_input()->RemoveLast();
      for (const char* name : {"axis", "keepdims", "select_last_index"}) {
        set_attribute(out, name, given.at(name));
      }
    } else if (node.op == "Slice") {
      const auto starts = given.at("starts").get<std::vector<std::int64_t>>(),
                 steps = given.at("steps").get<std::vector<std::int64_t>>(),
                 shape = given.at("shape").get<std::vector<std::int64_t>>();
      std::vector<std::int64_t> ends, axes;
      for (std::size_t d = 0; d < starts.size(); ++d) {
        const std::int64_t last = starts[d] + steps[d] * (shape[d] - 1);
        const std::int64_t behind = steps[d] > 0 ? last + 1 : last - 1;
        ends.push_back(behind < 0 ? -NodeReader::kMost : behind);  // -1 would be the last element
        axes.push_back(static_cast<std::int64_t>(d));
      }
      add_list("starts", starts), add_list("ends", ends);
      add_list("axes", axes), add_list("steps", steps);
    } else {
      write_resize(node, out);
    }
  }

  void write_resize(const Node& node, onnx::NodeProto& out) {
    const json& given = node.attributes;
    out.set_op_type("Resize");
    out.add_input("");
    json words = {{"mode", "nearest"},
                  {"coordinate_transformation_mode", "asymmetric"},
                  {"nearest_mode", "floor"}};
    for (const auto& [name, value] : given.items()) {
      if (words.contains(name)) words[name] = value;
    }
    for (const auto& [name, value] : words.items()) set_attribute(out, name, value);
    if (given.contains("cubic_coeff_a")) {
      set_attribute(out, "cubic_coeff_a", json(given.at("cubic_coeff_a").get<double>()));
    }
    if (given.contains("scales")) {
      const auto scales = given.at("scales").get<std::vector<float>>();
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(scales.data());
      const std::string name = of(node, "scales");
      add_constant(name, {ir::Scalar::Float32, {static_cast<std::int64_t>(scales.size())}},
                   {bytes, bytes + scales.size() * sizeof scales[0]});
      out.add_input(name);
    } else {
      out.add_input("");
      out.add_input(parameter(of(node, "sizes"), given.at("shape")));
    }
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
    if (is_writable(graph, node)) continue;
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
