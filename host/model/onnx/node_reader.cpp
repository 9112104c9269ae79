// NodeReader (node_reader.h).
#include "host/model/onnx/node_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fettle::model {

NodeReader::NodeReader(const onnx::NodeProto& node, std::int64_t opset, std::vector<ValueId> inputs,
                       GraphBuilder& builder)
    : node_(node), opset_(opset), inputs_(std::move(inputs)), builder_(builder) {}

const onnx::AttributeProto* NodeReader::attribute(const char* name) const {
  for (const onnx::AttributeProto& one : node_.attribute()) {
    if (one.name() == name) return &one;
  }
  return nullptr;
}

std::int64_t NodeReader::integer(const char* name, std::int64_t otherwise) const {
  const auto* one = attribute(name);
  if (!one) return otherwise;
  if (one->type() != onnx::AttributeProto::FLOAT) return one->i();
  // One of the wrong kind, which means a whole number or nothing.
  const double number = static_cast<double>(one->f());
  const bool whole = std::fabs(number) < static_cast<double>(kMost) && number == std::trunc(number);
  return whole ? static_cast<std::int64_t>(number) : otherwise;
}

double NodeReader::number(const char* name, double otherwise) const {
  const auto* one = attribute(name);
  if (!one) return otherwise;
  return one->type() == onnx::AttributeProto::INT ? static_cast<double>(one->i())
                                                  : static_cast<double>(one->f());
}

std::string NodeReader::word(const char* name, const std::string& otherwise) const {
  const auto* one = attribute(name);
  return one ? one->s() : otherwise;
}

NodeReader::List NodeReader::list(const char* name, const List& otherwise) const {
  const auto* one = attribute(name);
  return one ? List(one->ints().begin(), one->ints().end()) : otherwise;
}

Result<NodeReader::List> NodeReader::in_range(const char* name, List list, std::int64_t low,
                                              std::int64_t high) const {
  if (list.size() > 1024) return invalid(std::string("its ") + name + " has too many numbers");
  for (const std::int64_t number : list) {
    if (number < low || number > high) {
      return invalid(std::string("its ") + name + " has " + std::to_string(number));
    }
  }
  return list;
}

Result<NodeReader::List> NodeReader::checked_list(const char* name, const List& otherwise,
                                                  std::int64_t low, std::int64_t high) const {
  return in_range(name, list(name, otherwise), low, high);
}

Result<NodeReader::List> NodeReader::parameter(const char* name, std::size_t input,
                                               const List& otherwise) const {
  if (!has(name) && !has_input(input)) return otherwise;
  auto known = has(name) ? std::optional(list(name, {})) : builder_.whole_numbers(inputs_[input]);
  if (!known) {
    return unsupported(std::string("its ") + name + " is not known before the network runs");
  }
  // Exporters say "to the end" by the largest number.
  for (std::int64_t& number : *known) number = std::clamp(number, -kMost, kMost);
  return in_range(name, std::move(*known), -kMost, kMost);
}

Result<double> NodeReader::number_parameter(const char* name, std::size_t input,
                                            double otherwise) const {
  if (has(name)) return number(name, 0);
  if (!has_input(input)) return otherwise;
  auto known = builder_.numbers(inputs_[input]);
  if (!known) {
    return unsupported(std::string("its ") + name + " is not known before the network runs");
  }
  if (known->size() != 1) return invalid(std::string("its ") + name + " is not one number");
  return known->front();
}

std::optional<std::vector<double>> NodeReader::numbers(std::size_t input) const {
  return has_input(input) ? builder_.numbers(inputs_[input]) : std::nullopt;
}

Result<std::vector<double>> NodeReader::number_list(const char* name, std::size_t input) const {
  if (const auto* one = attribute(name)) {
    return std::vector<double>(one->floats().begin(), one->floats().end());
  }
  if (!has_input(input)) return invalid(std::string("has no ") + name);
  auto known = builder_.numbers(inputs_[input]);
  if (!known) {
    return unsupported(std::string("its ") + name + " are not known before the network runs");
  }
  return *known;
}

Result<ValueId> NodeReader::add(const std::string& op, nlohmann::json attributes,
                                std::vector<ValueId> inputs) const {
  return builder_.add(op, std::move(attributes), std::move(inputs),
                      node_.output_size() ? node_.output(0) : "", node_.name());
}

ValueId NodeReader::constant(OnnxTensor tensor) const {
  return builder_.constant(node_.output_size() ? node_.output(0) : "", std::move(tensor.type),
                           std::move(tensor.bytes));
}

ValueId NodeReader::constant(const List& list, bool scalar) const {
  OnnxTensor tensor;
  tensor.type = {ir::Scalar::Int64, {}};
  if (!scalar) tensor.type.shape = {static_cast<std::int64_t>(list.size())};
  tensor.bytes.resize(list.size() * sizeof(std::int64_t));
  if (!list.empty()) std::memcpy(tensor.bytes.data(), list.data(), tensor.bytes.size());
  return constant(std::move(tensor));
}

Error NodeReader::invalid(const std::string& what) const {
  return {ErrorCode::InvalidArgument, what};
}
Error NodeReader::unsupported(const std::string& what) const {
  return {ErrorCode::Unsupported, what};
}

}  // namespace fettle::model
