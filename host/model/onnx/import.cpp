// From an ONNX file to a graph (import.h).
#include "host/model/onnx/import.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <unordered_set>

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
    if (opset() < 1) return wrong(path_, "does not say which opset its operators are of");
    find_unknown_operators();
    auto graph = read();
    // Of what is not done here all is told at once; what else is wrong may come of it.
    if (!unknown_.empty() || !unsupported_.empty()) {
      return wrong(path_, what_is_not_done(), ErrorCode::Unsupported);
    }
    if (graph && opset() > kNewestOpset && options_.warn) {
      options_.warn(path_ + " is of opset " + std::to_string(opset()) +
                    ", newer than any that is " + "known here (" + std::to_string(kNewestOpset) +
                    "): an operator whose meaning has changed since is misread");
    }
    return graph;
  }

 private:
  // Later ones are read by the meaning that it has.
  static constexpr std::int64_t kNewestOpset = 20;

  Result<Graph> read() {
    const onnx::GraphProto& graph = model_.graph();
    if (graph.sparse_initializer_size()) {
      return wrong(path_, "has sparse tensors", ErrorCode::Unsupported);
    }
    const auto folder = std::filesystem::path(path_).parent_path();
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      auto read = read_tensor(tensor, folder.empty() ? "." : folder.string());
      if (!read) return wrong(path_, read.error().message, read.error().code);
      values_[tensor.name()] =
          builder_.constant(tensor.name(), std::move(read->type), std::move(read->bytes));
    }
    if (auto closed = check_extents(); !closed) return std::move(closed).error();
    for (const onnx::ValueInfoProto& input : graph.input()) {
      if (values_.count(input.name())) continue;  // an initializer that could be overridden
      if (auto read = take_input(input); !read) return std::move(read).error();
    }
    for (const int node : in_order(graph)) {
      if (auto read = take_node(graph.node(node)); !read) return std::move(read).error();
    }
    std::vector<ValueId> outputs;
    for (const onnx::ValueInfoProto& output : graph.output()) {
      const auto at = values_.find(output.name());
      if (const auto lacks = missing_.find(output.name()); lacks != missing_.end()) {
        return wrong(path_,
                     "its output '" + output.name() + "' is one that " + lacks->second +
                         " does not have here",
                     ErrorCode::Unsupported);
      }
      if (at == values_.end())
        return wrong(path_, "nothing makes its output '" + output.name() + "'");
      outputs.push_back(at->second);
    }
    if (outputs.empty()) return wrong(path_, "has no outputs");
    return builder_.finish(std::move(outputs));
  }

  // As they stand in the file, but for those that stand before what they read, as some tools leave
  // them. Those that read one another in a circle stand at the end.
  static std::vector<int> in_order(const onnx::GraphProto& graph) {
    std::unordered_map<std::string, int> makers;
    for (int i = 0; i < graph.node_size(); ++i) {
      for (const std::string& output : graph.node(i).output()) makers.emplace(output, i);
    }
    std::vector<std::vector<int>> readers(static_cast<std::size_t>(graph.node_size()));
    std::vector<int> waits(readers.size());
    for (int i = 0; i < graph.node_size(); ++i) {
      for (const std::string& input : graph.node(i).input()) {
        const auto maker = makers.find(input);
        if (input.empty() || maker == makers.end()) continue;
        readers[static_cast<std::size_t>(maker->second)].push_back(i);
        ++waits[static_cast<std::size_t>(i)];
      }
    }
    std::set<int> ready;
    for (int i = 0; i < graph.node_size(); ++i) {
      if (waits[static_cast<std::size_t>(i)] == 0) ready.insert(i);
    }
    std::vector<int> order;
    while (!ready.empty()) {
      const int node = *ready.begin();
      ready.erase(ready.begin());
      order.push_back(node);
      for (const int reader : readers[static_cast<std::size_t>(node)]) {
        if (--waits[static_cast<std::size_t>(reader)] == 0) ready.insert(reader);
      }
    }
    for (int i = 0; i < graph.node_size(); ++i) {
      if (waits[static_cast<std::size_t>(i)] > 0) order.push_back(i);
    }
    return order;
  }

  // Of ONNX's own operators; 0: the model does not say.
  std::int64_t opset() const {
    for (const onnx::OperatorSetIdProto& set : model_.opset_import()) {
      if (set.domain().empty() || set.domain() == "ai.onnx") return set.version();
    }
    return 0;
  }

  static bool has_own_domain(const onnx::NodeProto& node) {
    return !node.domain().empty() && node.domain() != "ai.onnx";
  }

  static std::string full_name(const onnx::NodeProto& node) {
    return (has_own_domain(node) ? node.domain() + "." : "") + node.op_type();
  }

  // Each once, with the first node that has it.
  void find_unknown_operators() {
    for (const onnx::NodeProto& node : model_.graph().node()) {
      if (!find_reader(full_name(node))) unknown_.emplace(full_name(node), words_for(node));
    }
  }

  std::string what_is_not_done() const {
    std::string text;
    for (const auto& [name, node] : unknown_) {
      text += (text.empty() ? "has operators that are not known here: " : ", ") + name + " (" +
              node + ")";
    }
    std::string asked;
    for (const auto& [what, node] : unsupported_) {
      asked += (asked.empty() ? "" : "; ") + what.first + " (" + node + "): " + what.second;
    }
    if (asked.empty()) return text;
    return text + (text.empty() ? "" : "; it ") + "asks for what is not done here: " + asked;
  }

  // What is open has no name of its own where it goes by its place.
  static std::string open_extent(const onnx::ValueInfoProto& input, int axis) {
    const auto& dim = input.type().tensor_type().shape().dim(axis);
    if (!dim.has_dim_param() && dim.dim_value() >= 1) return "";
    return dim.dim_param().empty() ? input.name() + "." + std::to_string(axis) : dim.dim_param();
  }

  // Those that are open and not given, all in one message; those that are given and not open.
  Result<void> check_extents() const {
    std::set<std::string> open, missing;
    std::string of, give;
    for (const onnx::ValueInfoProto& input : model_.graph().input()) {
      if (values_.count(input.name()) || !input.type().has_tensor_type()) continue;
      const auto& shape = input.type().tensor_type().shape();
      for (int d = 0; d < shape.dim_size(); ++d) {
        const std::string name = open_extent(input, d);
        if (name.empty()) continue;
        open.insert(name);
        if (options_.extents.count(name) || options_.known_inputs.count(input.name())) continue;
        if (shape.dim(d).has_dim_value() && shape.dim(d).dim_value() == 0) {
          return wrong(path_, "its input '" + input.name() +
                                  "' holds nothing: its extent at axis " + std::to_string(d) +
                                  " is 0 (--extent " + name + "=... puts another in its place)");
        }
        if (!missing.insert(name).second) continue;
        give += " --extent " + name + "=...";
        of += (of.empty() ? "'" : ", '") + name + "' of its input '" + input.name() + "'";
      }
    }
    if (!missing.empty()) {
      return wrong(path_, "leaves extents open: " + of + "; give them:" + give);
    }
    for (const auto& [name, extent] : options_.extents) {
      if (open.count(name)) continue;
      std::string known;
      for (const std::string& one : open) known += (known.empty() ? "" : ", ") + one;
      return wrong(path_, "--extent " + name + ": no extent of that name is open" +
                              (known.empty() ? ", nor is any other" : "; those are: " + known));
    }
    return {};
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
      const std::string open = open_extent(input, d);
      type.shape.push_back(open.empty() ? tensor.shape().dim(d).dim_value()
                                        : options_.extents.at(open));
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

  // What a node would make that is not done here; nor is what reads it looked at.
  void leave_out(const onnx::NodeProto& node) {
    for (const std::string& output : node.output()) {
      if (!output.empty()) left_out_.insert(output);
    }
  }

  bool reads_what_is_left_out(const onnx::NodeProto& node) const {
    return std::any_of(node.input().begin(), node.input().end(),
                       [&](const std::string& name) { return left_out_.count(name) > 0; });
  }

  Result<void> take_node(const onnx::NodeProto& node) {
    if (!find_reader(full_name(node)) || reads_what_is_left_out(node)) {
      leave_out(node);
      return {};
    }
    // One that asks for too much is remembered, once for each thing that is asked.
    const auto refused = [&](const Error& error) -> Result<void> {
      if (error.code != ErrorCode::Unsupported) {
        return wrong(path_, words_for(node) + ": " + error.message, error.code);
      }
      leave_out(node);
      unsupported_.emplace(std::pair(node.op_type(), error.message), words_for(node));
      return {};
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
      if (auto meant = take_old_meaning(node, inputs); !meant) return refused(meant.error());
    }
    const NodeReader reader(node, opset(), inputs, builder_);
    if (!reader.has_input(0) && node.op_type() != "Constant") {
      return refused(reader.invalid("lacks its first input"));
    }
    auto outputs = find_reader(full_name(node))(reader);
    if (!outputs) return refused(outputs.error());
    for (int i = 0; i < node.output_size(); ++i) {
      if (node.output(i).empty()) continue;
      const auto at = static_cast<std::size_t>(i);
      if (at >= outputs->size() || (*outputs)[at] == kNoValue) {
        // Used or not, nobody can have it.
        missing_[node.output(i)] = words_for(node);
        continue;
      }
      if (values_.count(node.output(i))) {
        return wrong(path_, words_for(node) + " makes '" + node.output(i) + "' again");
      }
      const ValueId made = (*outputs)[at];
      values_[node.output(i)] = made;
      builder_.name(made, node.output(i));
    }
    return {};
  }

  const onnx::ModelProto& model_;
  const OnnxOptions& options_;
  const std::string& path_;
  GraphBuilder builder_;
  std::unordered_map<std::string, ValueId> values_;
  std::unordered_map<std::string, std::string> missing_;  // outputs that readers do not make
  // What is not known or not done here, and the first node that has it; values that depend on it.
  std::map<std::string, std::string> unknown_;
  std::map<std::pair<std::string, std::string>, std::string> unsupported_;  // operator, what of it
  std::unordered_set<std::string> left_out_;
};

}  // namespace

Result<Graph> import_onnx(const std::string& path, const OnnxOptions& options) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error{
        ErrorCode::NotFound,
        path + ": cannot be read" + (errno != 0 ? std::string(": ") + std::strerror(errno) : "")};
  }
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) return wrong(path, "is a folder");
  onnx::ModelProto model;
  if (!model.ParseFromIstream(&file)) return wrong(path, "is no ONNX file, or is cut off");
  if (!model.has_graph()) return wrong(path, "is no ONNX model: it has no graph");
  return Importer(model, options, path).run();
}

}  // namespace fettle::model
