// The rows (export_rows.h).
#include "host/model/onnx/export_rows.h"

#include <algorithm>
#include <map>

namespace fettle::model {

const ExportRow* export_row(const std::string& op) {
  static const std::vector<ExportRow> kRows = {
      {"AveragePool", {}, {"dilations"}},
      {"BatchNormalization", {}, {}},
      {"Clip", {"min", "max"}, {}},
      {"Concat", {}, {}},
      {"Conv", {}, {}},
      {"ConvTranspose", {}, {}},
      {"CumSum", {"axis"}, {}},
      {"DequantizeLinear", {}, {}},
      {"Einsum", {}, {}},
      {"Elu", {}, {}, "Selu"},
      {"Expand", {"shape"}, {}},
      {"Flatten", {}, {}},
      {"GatherElements", {}, {}},
      {"GatherND", {}, {}},
      {"Gemm", {}, {}},
      {"GridSample", {}, {}},
      {"HardSigmoid", {}, {}},
      {"LRN", {}, {}},
      {"LayerNormalization", {}, {}},
      {"LeakyRelu", {}, {}},
      {"MaxPool", {}, {}},
      {"Pad", {"pads", "value"}, {}},
      {"Pow", {"exponent"}, {}},
      {"PowerOf", {}, {}, "Pow"},
      {"QuantizeLinear", {}, {"to"}},
      {"ReduceL2", {}, {"noop_with_empty_axes"}},
      {"ReduceMax", {}, {"noop_with_empty_axes"}},
      {"ReduceMean", {}, {"noop_with_empty_axes"}},
      {"ReduceMin", {}, {"noop_with_empty_axes"}},
      {"ReduceSum", {"axes"}, {}},
      {"ReduceSumSquare", {}, {"noop_with_empty_axes"}},
      {"Reshape", {"shape"}, {}},
      {"Softmax", {}, {}},
      {"Squeeze", {"axes"}, {}},
      {"Take", {}, {}, "Gather"},
      {"Tile", {"repeats"}, {}},
      {"Transpose", {}, {}},
      {"Trilu", {"diagonal"}, {}},
      {"Unsqueeze", {"axes"}, {}},
  };
  // The same there as here, without attributes.
  static const std::map<std::string, ExportRow> kPlain = [] {
    std::map<std::string, ExportRow> all;
    for (const char* op :
         {"Abs",       "Add",      "And",   "Ceil",       "Cos",         "Div",
          "Equal",     "Erf",      "Exp",   "Floor",      "Greater",     "GreaterOrEqual",
          "HardSwish", "Identity", "IsNaN", "Less",       "LessOrEqual", "Log",
          "MatMul",    "Max",      "Mean",  "Min",        "Mul",         "Neg",
          "Not",       "Or",       "PRelu", "Reciprocal", "Relu",        "Round",
          "Sigmoid",   "Sign",     "Sin",   "Softplus",   "Softsign",    "Sqrt",
          "Sub",       "Sum",      "Tanh",  "Where",      "Xor"}) {
      all.emplace(op, ExportRow{op, {}, {}});
    }
    return all;
  }();
  if (const auto plain = kPlain.find(op); plain != kPlain.end()) return &plain->second;
  const auto row =
      std::find_if(kRows.begin(), kRows.end(), [&](const ExportRow& one) { return op == one.op; });
  return row == kRows.end() ? nullptr : &*row;
}

const std::vector<ExportStep>* export_steps(const std::string& op) {
  // As find_activations() knows them again.
  static const std::map<std::string, std::vector<ExportStep>> kSteps = {
      {"Swish", {{"Sigmoid", {"x"}, "gate"}, {"Mul", {"x", "gate"}, "y"}}},
      {"Gelu",
       {{"Div", {"x", "root"}, "scaled"},
        {"Erf", {"scaled"}, "erf"},
        {"Add", {"erf", "one"}, "sum"},
        {"Mul", {"x", "sum"}, "product"},
        {"Div", {"product", "two"}, "y"}}},
      {"Mish",
       {{"Softplus", {"x"}, "plus"}, {"Tanh", {"plus"}, "gate"}, {"Mul", {"x", "gate"}, "y"}}},
  };
  const auto at = kSteps.find(op);
  return at == kSteps.end() ? nullptr : &at->second;
}

}  // namespace fettle::model
