// Inputs of an ONNX model (model_inputs.h).
#include "host/model/onnx/model_inputs.h"

#include <cmath>
#include <set>
#include <unordered_set>

#include "host/model/onnx/onnx_proto.h"
#include "host/model/onnx/tensors.h"
#include "host/space/tensor.h"

namespace fettle::model {
namespace {

Error wrong(const std::string& what, ErrorCode code = ErrorCode::InvalidArgument) {
  return {code, what};
}

// What is open has no name of its own where it goes by its place.
std::string open_extent(const onnx::ValueInfoProto& input, int axis) {
  const auto& dim = input.type().tensor_type().shape().dim(axis);
  if (!dim.has_dim_param() && dim.dim_value() >= 1) return "";
  return dim.dim_param().empty() ? input.name() + "." + std::to_string(axis) : dim.dim_param();
}

std::string listed(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& one : names) text += (text.empty() ? "" : ", ") + one;
  return text;
}

class Inputs {
 public:
  Inputs(const onnx::GraphProto& graph, const OnnxOptions& options) : options_(options) {
    std::unordered_set<std::string> initializers;  // some tools list them as inputs too
    for (const onnx::TensorProto& tensor : graph.initializer()) initializers.insert(tensor.name());
    for (const onnx::ValueInfoProto& input : graph.input()) {
      if (!initializers.count(input.name())) inputs_.push_back(&input);
    }
  }

  Result<std::vector<ModelInput>> read() const {
    if (auto closed = check_extents(); !closed) return std::move(closed).error();
    if (auto fit = check_constants(); !fit) return std::move(fit).error();
    std::vector<ModelInput> read;
    for (const onnx::ValueInfoProto* input : inputs_) {
      auto one = read_input(*input);
      if (!one) return std::move(one).error();
      read.push_back(std::move(*one));
    }
    return read;
  }

 private:
  // How long a list is says its numbers.
  bool says_extent(const onnx::ValueInfoProto& input) const {
    return options_.known_numbers.count(input.name()) > 0 &&
           input.type().tensor_type().shape().dim_size() == 1;
  }

  // Those that are open and not given, all in one message; those that are given and not open.
  Result<void> check_extents() const {
    std::set<std::string> open, missing;
    std::string of, give;
    for (const onnx::ValueInfoProto* one : inputs_) {
      const onnx::ValueInfoProto& input = *one;
      if (!input.type().has_tensor_type()) continue;
      const auto& shape = input.type().tensor_type().shape();
      for (int d = 0; d < shape.dim_size(); ++d) {
        const std::string name = open_extent(input, d);
        if (name.empty()) continue;
        open.insert(name);
        if (options_.extents.count(name) || options_.known_inputs.count(input.name())) continue;
        if (says_extent(input)) continue;
        if (shape.dim(d).has_dim_value() && shape.dim(d).dim_value() == 0) {
          return wrong("its input '" + input.name() + "' holds nothing: its extent at axis " +
                       std::to_string(d) + " is 0 (--extent " + name +
                       "=... puts another in its place)");
        }
        if (!missing.insert(name).second) continue;
        give += " --extent " + name + "=...";
        of += (of.empty() ? "'" : ", '") + name + "' of its input '" + input.name() + "'";
      }
    }
    if (!missing.empty()) return wrong("leaves extents open: " + of + "; give them:" + give);
    for (const auto& [name, extent] : options_.extents) {
      if (open.count(name)) continue;
      return wrong("--extent " + name + ": no extent of that name is open" +
                   (open.empty() ? ", nor is any other" : "; those are: " + listed(open)));
    }
    return {};
  }

  Result<void> check_constants() const {
    std::set<std::string> names;
    for (const onnx::ValueInfoProto* input : inputs_) names.insert(input->name());
    for (const auto& [name, numbers] : options_.known_numbers) {
      if (names.count(name)) continue;
      return wrong("--constant " + name + ": no input has that name; those are: " + listed(names));
    }
    return {};
  }

  Result<ModelInput> read_input(const onnx::ValueInfoProto& input) const {
    if (const auto known = options_.known_inputs.find(input.name());
        known != options_.known_inputs.end()) {
      return ModelInput{input.name(), known->second.first, known->second.second};
    }
    const std::string words = "its input '" + input.name() + "' ";
    if (!input.type().has_tensor_type()) {
      return wrong(words + "is no tensor", ErrorCode::Unsupported);
    }
    const auto& tensor = input.type().tensor_type();
    auto scalar = scalar_of(tensor.elem_type());
    if (!scalar) return wrong(words + scalar.error().message, scalar.error().code);
    TensorType type{*scalar, {}};
    if (!tensor.has_shape()) return wrong(words + "has no shape", ErrorCode::Unsupported);
    const auto known = options_.known_numbers.find(input.name());
    for (int d = 0; d < tensor.shape().dim_size(); ++d) {
      const std::string open = open_extent(input, d);
      if (open.empty()) {
        type.shape.push_back(tensor.shape().dim(d).dim_value());
      } else if (const auto given = options_.extents.find(open); given != options_.extents.end()) {
        type.shape.push_back(given->second);
      } else {
        type.shape.push_back(std::ssize(known->second));
      }
    }
    if (auto right = check_tensor(type); !right) {
      return wrong(words + "is " + right.error().message, right.error().code);
    }
    if (known == options_.known_numbers.end()) return ModelInput{input.name(), type, std::nullopt};
    auto bytes = bytes_of(type, known->second);
    if (!bytes) return wrong("--constant " + input.name() + ": " + bytes.error().message);
    return ModelInput{input.name(), type, std::move(*bytes)};
  }

  // One number fills the tensor.
  static Result<std::vector<std::uint8_t>> bytes_of(const TensorType& type,
                                                    const std::vector<double>& numbers) {
    const std::size_t count = static_cast<std::size_t>(type.elements());
    if (numbers.size() != 1 && numbers.size() != count) {
      return wrong("has " + std::to_string(numbers.size()) + " numbers, the input " +
                   std::to_string(count));
    }
    std::vector<double> all = numbers;
    if (all.size() != count) all.assign(count, numbers.front());
    auto bytes = space::to_bytes(all, {type.scalar, 1});
    if (!bytes) return bytes;
    const auto kept = space::to_doubles(*bytes, {type.scalar, 1});
    if (!kept) return kept.error();
    const ir::DataType element{type.scalar, 1};
    for (std::size_t i = 0; i < count; ++i) {
      const bool fits = element.is_float()  ? std::isfinite((*kept)[i]) || !std::isfinite(all[i])
                        : element.is_bool() ? all[i] == 0 || all[i] == 1
                                            : (*kept)[i] == all[i] && std::fabs(all[i]) <= 0x1p53;
      if (fits) continue;
      return wrong(std::to_string(all[i]) + " is no " + ir::to_string(element));
    }
    return bytes;
  }

  const OnnxOptions& options_;
  std::vector<const onnx::ValueInfoProto*> inputs_;
};

}  // namespace

Result<std::vector<ModelInput>> model_inputs(const onnx::GraphProto& graph,
                                             const OnnxOptions& options) {
  return Inputs(graph, options).read();
}

}  // namespace fettle::model
