// From an ONNX file to a graph (import.h).
#include "host/model/onnx/import.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unordered_set>
#include <utility>

#include "host/model/graph/builder.h"
#include "host/model/graph/node_stages.h"
#include "host/model/onnx/local_functions.h"
#include "host/model/onnx/model_inputs.h"
#include "host/model/onnx/node_order.h"
#include "host/model/onnx/node_reader.h"
#include "host/model/onnx/old_meaning.h"

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
    find_unknown_operators(model_.graph());
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
    if (auto taken = take_constants(graph); !taken) return std::move(taken).error();
    auto inputs = model_inputs(graph, options_);
    if (!inputs) return wrong(path_, inputs.error().message, inputs.error().code);
    for (ModelInput& one : *inputs) {
      values_[one.name] =
          one.known ? builder_.constant(one.name, std::move(one.type), std::move(*one.known))
                    : builder_.input(one.name, std::move(one.type));
    }
    auto outputs = take_nodes(graph);
    if (!outputs) return std::move(outputs).error();
    if (outputs->empty()) return wrong(path_, "has no outputs");
    if (std::count(outputs->begin(), outputs->end(), kNoValue)) {
      return wrong(path_, what_is_not_done(), ErrorCode::Unsupported);
    }
    return builder_.finish(std::move(*outputs));
  }

  Result<void> take_constants(const onnx::GraphProto& graph) {
    if (graph.sparse_initializer_size()) {
      return wrong(path_, "has sparse tensors", ErrorCode::Unsupported);
    }
    const auto folder = std::filesystem::path(path_).parent_path();
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      auto read = read_tensor(tensor, folder.empty() ? "." : folder.string());
      if (!read) return wrong(path_, read.error().message, read.error().code);
      made_.push_back(tensor.name());
      values_[tensor.name()] =
          builder_.constant(tensor.name(), std::move(read->type), std::move(read->bytes));
    }
    return {};
  }

  // What it puts out; kNoValue: what depends on what is not done here.
  Result<std::vector<ValueId>> take_nodes(const onnx::GraphProto& graph) {
    for (const int node : node_order(graph)) {
      if (auto read = take_node(graph.node(node)); !read) return std::move(read).error();
    }
    std::vector<ValueId> outputs;
    for (const onnx::ValueInfoProto& output : graph.output()) {
      const std::string& name = output.name();
      if (left_out_.count(name)) {
        outputs.push_back(kNoValue);
        continue;
      }
      const auto at = values_.find(name);
      if (const auto lacks = missing_.find(name); lacks != missing_.end()) {
        return wrong(
            path_, "its output '" + name + "' is one that " + lacks->second + " does not have here",
            ErrorCode::Unsupported);
      }
      if (at == values_.end()) return wrong(path_, "nothing makes its output '" + name + "'");
      outputs.push_back(at->second);
    }
    return outputs;
  }

  // The branch that a condition chooses, which is known; in it what is outside can be read, and
  // outside only what it puts out.
  Result<void> take_if(const onnx::NodeProto& node, const NodeReader& reader) {
    const auto condition = reader.numbers(0);
    if (!condition) {
      return refuse(node, reader.unsupported("a condition that is known only as the network runs "
                                             "(--constant NAME=NUMBER says what an input always "
                                             "is)"));
    }
    if (condition->size() != 1) {
      return refuse(node, reader.invalid("its condition is no single value"));
    }
    const auto* taken = reader.attribute(condition->front() != 0 ? "then_branch" : "else_branch");
    if (!taken || !taken->has_g()) return refuse(node, reader.invalid("lacks the branch it takes"));
    const onnx::GraphProto& branch = taken->g();
    for (const onnx::TensorProto& tensor : branch.initializer()) {
      if (values_.count(tensor.name())) return makes_again(node, tensor.name());
    }
    find_unknown_operators(branch);
    const std::size_t before = builder_.values();
    const auto outside = std::exchange(made_, {});
    if (auto constants = take_constants(branch); !constants) return constants;
    auto outputs = take_nodes(branch);
    if (!outputs) return outputs.error();
    for (ValueId& output : *outputs) {
      if (output == kNoValue) continue;
      if (output < before) {  // of outside, where it has another name
        auto same = builder_.add("Identity", {}, {output}, "");
        if (!same) return same.error();
        output = *same;
      }
    }
    for (std::size_t id = before; id < builder_.values(); ++id) {
      builder_.forget_name(static_cast<ValueId>(id));  // names of within
    }
    for (const std::string& name : made_) {
      values_.erase(name), missing_.erase(name), left_out_.erase(name);
    }
    made_ = outside;
    for (int i = 0; i < node.output_size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (at < outputs->size() && (*outputs)[at] == kNoValue) leave_out(node.output(i));
    }
    return keep(node, *outputs);
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
  void find_unknown_operators(const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (!is_known(node)) unknown_.emplace(full_name(node), words_for(node));
    }
  }

  static bool is_known(const onnx::NodeProto& node) {
    return is_if(node) || find_reader(full_name(node));
  }
  static bool is_if(const onnx::NodeProto& node) { return full_name(node) == "If"; }

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

  static std::string words_for(const onnx::NodeProto& node) {
    if (!node.name().empty()) return "node '" + node.name() + "'";
    return node.output_size() ? "the node that makes '" + node.output(0) + "'" : "a node";
  }

  // What a node would make that is not done here; nor is what reads it looked at.
  void leave_out(const std::string& output) {
    if (output.empty()) return;
    made_.push_back(output);
    left_out_.insert(output);
  }
  void leave_out(const onnx::NodeProto& node) {
    for (const std::string& output : node.output()) leave_out(output);
  }

  bool reads_what_is_left_out(const onnx::NodeProto& node) const {
    return std::any_of(node.input().begin(), node.input().end(),
                       [&](const std::string& name) { return left_out_.count(name) > 0; });
  }

  // One that asks for too much is remembered, once for each thing that is asked.
  Result<void> refuse(const onnx::NodeProto& node, const Error& error) {
    if (error.code != ErrorCode::Unsupported) {
      return wrong(path_, words_for(node) + ": " + error.message, error.code);
    }
    leave_out(node);
    unsupported_.emplace(std::pair(node.op_type(), error.message), words_for(node));
    return {};
  }

  Error makes_again(const onnx::NodeProto& node, const std::string& name) const {
    return wrong(path_, words_for(node) + " makes '" + name + "' again");
  }

  Result<void> take_node(const onnx::NodeProto& node) {
    if (!is_known(node) || reads_what_is_left_out(node)) {
      leave_out(node);
      return {};
    }
    std::vector<ValueId> inputs;
    for (const std::string& name : node.input()) {
      const auto at = values_.find(name);
      if (missing_.count(name)) {
        return refuse(node,
                      Error{ErrorCode::Unsupported, "reads '" + name + "', an output that " +
                                                        missing_.at(name) + " does not have here"});
      }
      if (!name.empty() && at == values_.end()) {
        return wrong(path_, words_for(node) + " reads '" + name + "', which nothing has made");
      }
      inputs.push_back(name.empty() ? kNoValue : at->second);
    }
    if (opset() < 7) {
      const auto meant =
          take_old_meaning(NodeReader(node, opset(), inputs, builder_), builder_, inputs);
      if (!meant) return refuse(node, meant.error());
    }
    const NodeReader reader(node, opset(), inputs, builder_);
    if (!reader.has_input(0) && node.op_type() != "Constant") {
      return refuse(node, reader.invalid("lacks its first input"));
    }
    if (is_if(node)) return take_if(node, reader);
    const auto outputs = find_reader(full_name(node))(reader);
    return outputs ? keep(node, *outputs) : refuse(node, outputs.error());
  }

  // By the names that the node gives its outputs.
  Result<void> keep(const onnx::NodeProto& node, const std::vector<ValueId>& outputs) {
    for (int i = 0; i < node.output_size(); ++i) {
      const std::string& name = node.output(i);
      if (name.empty() || left_out_.count(name)) continue;
      const auto at = static_cast<std::size_t>(i);
      if (values_.count(name)) return makes_again(node, name);
      made_.push_back(name);
      if (at >= outputs.size() || outputs[at] == kNoValue) {
        missing_[name] = words_for(node);  // used or not, nobody can have it
        continue;
      }
      values_[name] = outputs[at];
      builder_.name(outputs[at], name);
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
  std::vector<std::string> made_;  // names of the graph or branch that is being taken
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
  if (auto plain = inline_local_functions(model); !plain) {
    return wrong(path, plain.error().message, plain.error().code);
  }
  return Importer(model, options, path).run();
}

}  // namespace fettle::model
