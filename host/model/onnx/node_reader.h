// A node of an ONNX file while it becomes nodes of ours: its attributes, its inputs, and what it
// makes.
#pragma once

#include <span>

#include "host/model/graph/builder.h"
#include "host/model/onnx/onnx_proto.h"
#include "host/model/onnx/tensors.h"

namespace fettle::model {

class NodeReader {
 public:
  using List = std::vector<std::int64_t>;

  NodeReader(const onnx::NodeProto& node, std::int64_t opset, std::vector<ValueId> inputs,
             GraphBuilder& builder);

  const std::string& op() const { return node_.op_type(); }
  std::int64_t opset() const { return opset_; }

  // Attributes, or what is meant without them.
  bool has(const char* name) const { return attribute(name) != nullptr; }
  std::int64_t integer(const char* name, std::int64_t otherwise) const;
  double number(const char* name, double otherwise) const;
  std::string word(const char* name, const std::string& otherwise) const;
  List list(const char* name, const List& otherwise) const;
  // InvalidArgument: longer than 1024, or a number outside. Everywhere sums and products of such
  // numbers fit int64.
  Result<List> checked_list(const char* name, const List& otherwise, std::int64_t low = -kMost,
                            std::int64_t high = kMost) const;
  static constexpr std::int64_t kMost = std::int64_t{1} << 31;
  const onnx::AttributeProto* attribute(const char* name) const;  // null: not there

  Result<std::vector<double>> number_list(const char* name, std::size_t input) const;
  std::size_t outputs() const { return static_cast<std::size_t>(node_.output_size()); }

  std::size_t inputs() const { return inputs_.size(); }
  bool has_input(std::size_t i) const { return i < inputs_.size() && inputs_[i] != kNoValue; }
  // kNoValue, and no shape, of one that is not there.
  ValueId input(std::size_t i) const { return has_input(i) ? inputs_[i] : kNoValue; }
  const std::vector<ValueId>& all_inputs() const { return inputs_; }
  List shape(std::size_t i) const { return type(i).shape; }
  TensorType type(std::size_t i) const {
    return has_input(i) ? builder_.value(inputs_[i]).type : TensorType{};
  }
  TensorType type_of(ValueId id) const { return builder_.value(id).type; }
  // What parameters are that older opsets have as an attribute, newer ones as an input.
  // Unsupported: an input that is not known before the network runs.
  Result<List> parameter(const char* name, std::size_t input, const List& otherwise) const;
  Result<double> number_parameter(const char* name, std::size_t input, double otherwise) const;
  // Empty: not known before the network runs.
  std::optional<std::vector<double>> numbers(std::size_t input) const;
  // The same of any value.
  std::optional<std::vector<double>> numbers_of(ValueId id) const { return builder_.numbers(id); }

  // One node of ours; its value is named as the ONNX node's output where it is the last one.
  Result<ValueId> add(const std::string& op, nlohmann::json attributes,
                      std::vector<ValueId> inputs) const;
  ValueId constant(OnnxTensor tensor) const;
  ValueId constant(const List& list, bool scalar = false) const;

  Result<List> in_range(const char* name, List list, std::int64_t low, std::int64_t high) const;
  Error invalid(const std::string& what) const;
  Error unsupported(const std::string& what) const;

 private:
  const onnx::NodeProto& node_;
  std::int64_t opset_;
  std::vector<ValueId> inputs_;
  GraphBuilder& builder_;
};

// How an operator of ONNX becomes nodes of ours: as many values as it has outputs that are used;
// kNoValue for one that cannot be had.
using Outputs = Result<std::vector<ValueId>>;
using Reader = Outputs (*)(const NodeReader& node);

// `op`: ONNX's name; of another domain's operator with that before it, "com.microsoft.QGemm". Null:
// it is not known.
Reader find_reader(const std::string& op);

struct ReaderRow {
  const char* op;
  Reader read;
};
// Rows by family.
std::span<const ReaderRow> attention_readers();
std::span<const ReaderRow> plain_readers();
std::span<const ReaderRow> composed_readers();
std::span<const ReaderRow> normalization_readers();
std::span<const ReaderRow> onnxruntime_readers();
std::span<const ReaderRow> ranking_readers();
std::span<const ReaderRow> quantized_readers();
std::span<const ReaderRow> shape_readers();
std::span<const ReaderRow> signal_readers();
std::span<const ReaderRow> slice_readers();
std::span<const ReaderRow> gather_readers();
std::span<const ReaderRow> scatter_readers();
std::span<const ReaderRow> recurrent_readers();
std::span<const ReaderRow> resize_readers();
std::span<const ReaderRow> reduction_readers();
std::span<const ReaderRow> window_readers();

}  // namespace fettle::model
