// From an ONNX file to a graph (import.h).
#include "host/model/onnx/import.h"

#include <algorithm>
#include <fstream>

#include "host/model/graph/builder.h"
#include "host/model/graph/node_stages.h"
#include "host/model/onnx/node_reader.h"

namespace fettle::model {
namespace {

Error wrong(const std::string& path, const std::string& what,
            ErrorCode code = ErrorCode::InvalidArgument) {
  return {code, path + ": " + what};
}

class Importer {
 public:
  Importer(const onnx::ModelProto& model, const OnnxOptions& options, const std::string& path)
      : model_(model), options_(options), path_(path), builder_(model.graph().name()) {}

  Result<Graph> run() {
    const onnx::GraphProto& graph = model_.graph();
    if (auto right = check_operators(graph); !right) return std::move(right).error();
    if (graph.sparse_initializer_size()) {
      return wrong(path_, "has sparse tensors", ErrorCode::Unsupported);
    }
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      auto read = read_tensor(tensor);
      if (!read) return wrong(path_, read.error().message, read.error().code);
      values_[tensor.name()] =
          builder_.constant(tensor.name(), std::move(read->type), std::move(read->bytes));
    }
    for (const onnx::ValueInfoProto& input : graph.input()) {
      if (values_.count(input.name())) continue;  // an initializer that could be overridden
      if (auto read = take_input(input); !read) return std::move(read).error();
    }
    for (const onnx::NodeProto& node : graph.node()) {
      if (auto read = take_node(node); !read) return std::move(read).error();
    }
    std::vector<ValueId> outputs;
    for (const onnx::ValueInfoProto& output : graph.output()) {
      const auto at = values_.find(output.name());
      if (at == values_.end())
        return wrong(path_, "nothing makes its output '" + output.name() + "'");
      outputs.push_back(at->second);
    }
    if (outputs.empty()) return wrong(path_, "has no outputs");
    return builder_.finish(std::move(outputs));
  }

 private:
  // Of ONNX's own operators; 0: the model does not say.
  std::int64_t opset() const {
    for (const onnx::OperatorSetIdProto& set : model_.opset_import()) {
      if (set.domain().empty() || set.domain() == "ai.onnx") return set.version();
    }
    return 0;
  }

  Result<void> check_operators(const onnx::GraphProto& graph) {
    if (opset() < 1) return wrong(path_, "does not say which opset its operators are of");
    // Each that is not known, once, with the first node that has it.
    std::map<std::string, std::string> unknown;
    for (const onnx::NodeProto& node : graph.node()) {
      const bool own = !node.domain().empty() && node.domain() != "ai.onnx";
      if (!own && find_reader(node.op_type())) continue;
      const std::string name = own ? node.domain() + "." + node.op_type() : node.op_type();
      unknown.emplace(name, words_for(node));
    }
    if (unknown.empty()) return {};
    std::string list;
    for (const auto& [name, node] : unknown) {
      list += (list.empty() ? "" : ", ") + name + " (" + node + ")";
    }
    return wrong(path_, "has operators that are not known here: " + list, ErrorCode::Unsupported);
  }

  Result<void> take_input(const onnx::ValueInfoProto& input) {
    const auto known = options_.known_inputs.find(input.name());
    if (known != options_.known_inputs.end()) {
      values_[input.name()] =
          builder_.constant(input.name(), known->second.first, known->second.second);
      return {};
    }
    const std::string words = "its input '" + input.name() + "' ";
    if (!input.type().has_tensor_type())
      return wrong(path_, words + "is no tensor", ErrorCode::Unsupported);
    const auto& tensor = input.type().tensor_type();
    auto scalar = scalar_of(tensor.elem_type());
    if (!scalar) return wrong(path_, words + scalar.error().message, scalar.error().code);
    TensorType type{*scalar, {}};
    if (!tensor.has_shape()) return wrong(path_, words + "has no shape", ErrorCode::Unsupported);
    for (int d = 0; d < tensor.shape().dim_size(); ++d) {
      const auto& dim = tensor.shape().dim(d);
      std::int64_t extent = dim.dim_value();
      if (dim.has_dim_param() || extent < 1) {
        // One without a name goes by its place.
        const std::string name =
            dim.dim_param().empty() ? input.name() + "." + std::to_string(d) : dim.dim_param();
        const auto given = options_.extents.find(name);
        if (given == options_.extents.end()) {
          return wrong(path_, words + "leaves the extent '" + name + "' open: give it");
        }
        extent = given->second;
      }
      type.shape.push_back(extent);
    }
    if (auto right = check_tensor(type); !right) {
      return wrong(path_, words + "is " + right.error().message, right.error().code);
    }
    values_[input.name()] = builder_.input(input.name(), std::move(type));
    return {};
  }

  static std::string words_for(const onnx::NodeProto& node) {
    if (!node.name().empty()) return "node '" + node.name() + "'";
    return node.output_size() ? "the node that makes '" + node.output(0) + "'" : "a node";
  }

  // Before opset 7 a second operand's axes stand from `axis` on, not at the end, and a node may be
  // one of training.
  Result<void> take_old_meaning(const onnx::NodeProto& node, std::vector<ValueId>& inputs) {
    const NodeReader reader(node, opset(), inputs, builder_);
    if (reader.has("is_test") && reader.integer("is_test", 1) == 0) {
      return reader.unsupported("training");
    }
    if (reader.integer("spatial", 1) == 0) return reader.unsupported("norms of single elements");
    const bool slopes = node.op_type() == "PRelu";
    const bool placed = reader.integer("broadcast", 0) == 1 && reader.has("axis");
    if ((!slopes && !placed) || !reader.has_input(0) || !reader.has_input(1)) return {};
    const auto rank = static_cast<std::int64_t>(reader.shape(0).size());
    NodeReader::List shape = reader.shape(1);
    std::int64_t axis = slopes ? 1 : reader.integer("axis", 0);
    if (axis < 0) axis += rank;
    const auto size = static_cast<std::int64_t>(shape.size());
    if (slopes && (size != 1 || shape[0] == 1 || rank < 2)) return {};
    if (axis < 0 || axis + size > rank) return reader.invalid("its second operand has no place");
    shape.resize(static_cast<std::size_t>(rank - axis), 1);
    auto moved = builder_.add("Reshape", {{"shape", shape}, {"allowzero", 0}}, {inputs[1]}, "");
    if (!moved) return std::move(moved).error();
    inputs[1] = *moved;
    return {};
  }

  Result<void> take_node(const onnx::NodeProto& node) {
    const auto named = [&](const Error& error) {
      return wrong(path_, words_for(node) + ": " + error.message, error.code);
    };
    std::vector<ValueId> inputs;
    for (const std::string& name : node.input()) {
      const auto at = values_.find(name);
      if (missing_.count(name)) {
        return wrong(path_,
                     words_for(node) + " reads '" + name + "', an output that " +
                         missing_.at(name) + " does not have here",
                     ErrorCode::Unsupported);
      }
      if (!name.empty() && at == values_.end()) {
        return wrong(path_, words_for(node) + " reads '" + name + "', which nothing has made");
      }
      inputs.push_back(name.empty() ? kNoValue : at->second);
    }
    if (opset() < 7) {
      if (auto meant = take_old_meaning(node, inputs); !meant) return named(meant.error());
    }
    auto outputs = find_reader(node.op_type())(NodeReader(node, opset(), inputs, builder_));
    if (!outputs) return named(outputs.error());
    for (int i = 0; i < node.output_size(); ++i) {
      if (node.output(i).empty()) continue;
      if (static_cast<std::size_t>(i) >= outputs->size()) {
        // Used or not, nobody can have it.
        missing_[node.output(i)] = words_for(node);
        continue;
      }
      if (values_.count(node.output(i))) {
        return wrong(path_, words_for(node) + " makes '" + node.output(i) + "' again");
      }
      values_[node.output(i)] = (*outputs)[static_cast<std::size_t>(i)];
    }
    return {};
  }

  const onnx::ModelProto& model_;
  const OnnxOptions& options_;
  const std::string& path_;
  GraphBuilder builder_;
  std::unordered_map<std::string, ValueId> values_;
  std::unordered_map<std::string, std::string> missing_;  // outputs that readers do not make
};

}  // namespace

Result<Graph> import_onnx(const std::string& path, const OnnxOptions& options) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::NotFound, path + ": cannot be read"};
  onnx::ModelProto model;
  if (!model.ParseFromIstream(&file)) return wrong(path, "is no ONNX file, or is cut off");
  if (!model.has_graph()) return wrong(path, "is no ONNX model: it has no graph");
  return Importer(model, options, path).run();
}

}  // namespace fettle::model
