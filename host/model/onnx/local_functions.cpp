// Functions that an ONNX model brings itself (local_functions.h).
#include "host/model/onnx/local_functions.h"

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/model/onnx/onnx_proto.h"

namespace fettle::model {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Attributes = std::map<std::string, const onnx::AttributeProto*>;
using Names = std::unordered_map<std::string, std::string>;

constexpr int kMostNodes = 1 << 20;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr int kDeepest = 64;

std::int64_t plain_opset(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& sets) {
  for (const onnx::OperatorSetIdProto& set : sets) {
    if (set.domain().empty() || set.domain() == "ai.onnx") return set.version();
  }
  return 0;
}

bool makes_something(const onnx::NodeProto& node) {
  for (const std::string& name : node.output()) {
    if (!name.empty()) return true;
  }
  return false;
}

// Until no name of the graph begins with it.
void lengthen(std::string& mark, const onnx::GraphProto& graph) {
  const auto avoid = [&](const std::string& name) {
    while (name.compare(0, mark.size(), mark) == 0) mark += '_';
  };
  for (const onnx::TensorProto& tensor : graph.initializer()) avoid(tensor.name());
  for (const onnx::ValueInfoProto& input : graph.input()) avoid(input.name());
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& name : node.input()) avoid(name);
    for (const std::string& name : node.output()) avoid(name);
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) lengthen(mark, attribute.g());
    }
  }
}

// What its attributes are without a value at the call: FunctionProto.attribute_proto, field 11
// since IR version 9, which Debian's libonnx does not know.
std::vector<onnx::AttributeProto> defaults_of(const onnx::FunctionProto& function) {
  constexpr int kAttributeProto = 11;
  std::vector<onnx::AttributeProto> defaults;
  const auto& fields = function.unknown_fields();
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.number() != kAttributeProto) continue;
    if (field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) continue;
    onnx::AttributeProto one;
    if (one.ParseFromString(field.length_delimited())) defaults.push_back(std::move(one));
  }
  return defaults;
}

// A function's nodes as one call has them.
class Call {
 public:
  Call(const onnx::NodeProto& node, const onnx::FunctionProto& function, std::string prefix)
      : prefix_(std::move(prefix)) {
    // What the caller leaves out has no name.
    for (int i = 0; i < function.input_size(); ++i) {
      names_[function.input(i)] = i < node.input_size() ? node.input(i) : "";
    }
    // What the caller does not use may be read within.
    for (int i = 0; i < function.output_size() && i < node.output_size(); ++i) {
      if (!node.output(i).empty()) names_[function.output(i)] = node.output(i);
    }
    for (const onnx::AttributeProto& one : node.attribute()) attributes_[one.name()] = &one;
    defaults_ = defaults_of(function);
    for (const onnx::AttributeProto& one : defaults_) attributes_.emplace(one.name(), &one);
  }

  onnx::NodeProto of(const onnx::NodeProto& inner) const {
    onnx::NodeProto node = inner;
    adapt(node);
    return node;
  }

 private:
  std::string renamed(const std::string& name) const {
    if (name.empty()) return name;
    const auto bound = names_.find(name);
    return bound != names_.end() ? bound->second : prefix_ + "/" + name;
  }

  void adapt(onnx::NodeProto& node) const {
    if (!node.name().empty()) node.set_name(prefix_ + "/" + node.name());
    for (std::string& name : *node.mutable_input()) name = renamed(name);
    for (std::string& name : *node.mutable_output()) name = renamed(name);
    google::protobuf::RepeatedPtrField<onnx::AttributeProto> kept;
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.ref_attr_name().empty()) {
        if (attribute.has_g()) adapt(*attribute.mutable_g());
        kept.Add()->Swap(&attribute);
        continue;
      }
      const auto given = attributes_.find(attribute.ref_attr_name());
      if (given == attributes_.end()) continue;
      onnx::AttributeProto& now = *kept.Add();
      now = *given->second;
      now.set_name(attribute.name());
    }
    node.mutable_attribute()->Swap(&kept);
  }

  void adapt(onnx::GraphProto& branch) const {
    for (onnx::TensorProto& tensor : *branch.mutable_initializer()) {
      tensor.set_name(renamed(tensor.name()));
    }
    for (onnx::ValueInfoProto& input : *branch.mutable_input())
      input.set_name(renamed(input.name()));
    for (onnx::ValueInfoProto& output : *branch.mutable_output()) {
      output.set_name(renamed(output.name()));
    }
    for (onnx::NodeProto& node : *branch.mutable_node()) adapt(node);
  }

  std::string prefix_;
  Names names_;
  std::vector<onnx::AttributeProto> defaults_;
  Attributes attributes_;  // of the node and of defaults_
};

class Inliner {
 public:
  explicit Inliner(const onnx::ModelProto& model) : opset_(plain_opset(model.opset_import())) {
    lengthen(mark_, model.graph());
    for (const onnx::FunctionProto& function : model.functions()) {
      functions_[{function.domain(), function.name()}] = &function;
    }
  }

  // The same nodes without calls.
  Result<void> inline_in(Nodes& nodes, int depth) {
    Nodes plain;
    for (onnx::NodeProto& node : nodes) {
      if (auto taken = take(node, depth, plain); !taken) return taken;
    }
    nodes.Swap(&plain);
    return {};
  }

 private:
  Result<void> take(onnx::NodeProto& node, int depth, Nodes& plain) {
    if (++taken_ > kMostNodes) {
      return Error{ErrorCode::InvalidArgument, "its functions make more than 1048576 nodes"};
    }
    const auto called = functions_.find({node.domain(), node.op_type()});
    if (called == functions_.end()) {
      for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
        if (!attribute.has_g()) continue;
        auto done = inline_in(*attribute.mutable_g()->mutable_node(), depth);
        if (!done) return done;
      }
      plain.Add()->Swap(&node);
      return {};
    }
    const onnx::FunctionProto& function = *called->second;
    const std::string words = "its function " + function.domain() + "." + function.name() + " ";
    if (depth >= kDeepest) {
      return Error{ErrorCode::InvalidArgument, words + "calls itself, or others 64 deep"};
    }
    const std::int64_t opset = plain_opset(function.opset_import());
    if (opset != 0 && opset != opset_) {
      return Error{ErrorCode::Unsupported, words + "is of opset " + std::to_string(opset) +
                                               ", the model of " + std::to_string(opset_)};
    }
    if (!makes_something(node)) return {};
    const Call call(node, function, mark_ + std::to_string(++calls_));
    for (const onnx::NodeProto& inner : function.node()) {
      onnx::NodeProto adapted = call.of(inner);
      bytes_ += adapted.ByteSizeLong();
      if (bytes_ > kMostBytes) {
        return Error{ErrorCode::InvalidArgument, "its functions make more than 1 GiB of nodes"};
      }
      if (auto taken = take(adapted, depth + 1, plain); !taken) return taken;
    }
    return {};
  }

  std::map<std::pair<std::string, std::string>, const onnx::FunctionProto*> functions_;
  std::int64_t opset_;
  std::string mark_ = "call";  // that names within calls begin with
  int taken_ = 0, calls_ = 0;  // nodes and calls; calls
  std::size_t bytes_ = 0;      // of nodes that calls became
};

}  // namespace

Result<void> inline_local_functions(onnx::ModelProto& model) {
  if (model.functions_size() == 0) return {};
  std::set<std::pair<std::string, std::string>> names;
  for (const onnx::FunctionProto& function : model.functions()) {
    if (names.emplace(function.domain(), function.name()).second) continue;
    return Error{ErrorCode::Unsupported,
                 "it has several functions " + function.domain() + "." + function.name()};
  }
  return Inliner(model).inline_in(*model.mutable_graph()->mutable_node(), 0);
}

}  // namespace fettle::model
