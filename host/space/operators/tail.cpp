// Fused tails (tail.h).
#include "host/space/operators/tail.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>

#include <nlohmann/json.hpp>

#include "host/space/operators/activations.h"
#include "host/space/operators/int8_fills.h"
#include "host/space/operators/requantize.h"
#include "host/space/operators/stages.h"

namespace fettle::space {

namespace {

const std::vector<std::string> kFloatSteps = {"bias",  "multiply", "add",   "relu",
                                              "relu6", "sigmoid",  "swish", "hard_swish",
                                              "gelu",  "tanh",     "clip",  "leaky_relu"};
const std::vector<std::string> kIntSteps = {"bias",        "add",        "relu", "clip",
                                            "shift_right", "requantize", "cast"};
// Of a residual that is added to int8 sums: with what is clipped to int8, about half of the outputs
// stay inside.
constexpr std::int64_t kIntResidual = 63;

bool is_function(const std::string& name) {
  return name == "sigmoid" || name == "swish" || name == "hard_swish" || name == "gelu" ||
         name == "tanh";
}

Error refuse(ErrorCode code, const nlohmann::json& step, const char* why) {
  return Error{code, "tail " + step.dump() + " " + why};
}

// "clip 0 6" → clip, {0, 6}; empty: not of that form.
std::optional<TailStep> parse_step(const std::string& text, bool quantized) {
  const auto& known = quantized ? kIntSteps : kFloatSteps;
  std::istringstream words(text);
  TailStep step;
  words >> step.name;
  if (std::find(known.begin(), known.end(), step.name) == known.end()) return {};
  // One way to write a step, so that equal workloads have equal texts.
  std::string canonical = step.name;
  if (step.name == "clip") {
    words >> step.low >> step.high;
    canonical += " " + std::to_string(step.low) + " " + std::to_string(step.high);
  } else if (step.name == "shift_right") {
    words >> step.low;
    step.high = step.low;
    canonical += " " + std::to_string(step.low);
    if (step.low < 1 || step.low > 30) return {};
  } else if (step.name == "leaky_relu") {
    words >> step.slope;
    canonical = leaky_relu_step(step.slope);
  } else if (step.name == "cast") {
    canonical += " int8";
  }
  if (words.fail() || text != canonical) return {};
  return step;
}

}  // namespace

Result<std::vector<TailStep>> parse_tail(const nlohmann::json& list, bool quantized) {
  std::vector<TailStep> steps;
  bool in_range = false;
  bool function = false;
  for (const nlohmann::json& entry : list) {
    if (!entry.is_string()) return refuse(ErrorCode::InvalidArgument, entry, "is not a string");
    const auto step = parse_step(entry.get<std::string>(), quantized);
    if (!step) {
      return refuse(ErrorCode::Unsupported, entry,
                    quantized ? "is not known; supported of int8: bias, add, relu, \"clip LOW "
                                "HIGH\", \"shift_right "
                                "BITS\" by 1 to 30, requantize, \"cast int8\""
                              : "is not known; supported: bias, multiply, add, relu, "
                                "relu6, \"clip LOW HIGH\", \"leaky_relu SLOPE\" of 0 to 1, "
                                "sigmoid, swish, hard_swish, gelu, tanh");
    }
    if (step->low > step->high) {
      return refuse(ErrorCode::InvalidArgument, entry, "has no values between its bounds");
    }
    const bool again = std::any_of(steps.begin(), steps.end(),
                                   [&](const TailStep& s) { return s.name == step->name; });
    if (again) return refuse(ErrorCode::Unsupported, entry, "is there twice");
    if (function && is_function(step->name)) {
      return refuse(ErrorCode::Unsupported, entry, "is a second function");
    }
    function |= is_function(step->name);
    if (!steps.empty() && steps.back().name == "cast") {
      return refuse(ErrorCode::Unsupported, entry, "comes after the cast");
    }
    constexpr std::int64_t kHighest = std::numeric_limits<std::int32_t>::max();
    if (quantized && step->name == "clip" && (step->low < -kHighest - 1 || step->high > kHighest)) {
      return refuse(ErrorCode::InvalidArgument, entry, "has a bound outside the int32 of the sums");
    }
    if (step->name == "clip") in_range = step->low >= -128 && step->high <= 127;
    if (step->name == "bias" || step->name == "add" || step->name == "requantize") in_range = false;
    if (step->name == "cast" && !in_range) {
      return refuse(ErrorCode::Unsupported, entry, "needs a clip to the range of int8 before it");
    }
    steps.push_back(*step);
  }
  return steps;
}

namespace {

struct Elementwise {
  std::vector<Axis> axes;
  std::vector<ir::Expr> indices;
};

// Fresh axes of the same names and extents.
Elementwise like(const Stage& stage) {
  Elementwise e;
  for (const Axis& axis : stage.axes) {
    e.axes.push_back(make_axis(axis.name, axis.extent));
    e.indices.push_back(ir::var_ref(e.axes.back().var));
  }
  return e;
}

class Appender {
 public:
  // stored: the type of activations in memory. bias: of int32, the largest magnitude. factor: the
  // same of a constant that is multiplied with.
  Appender(ComputeDag& dag, const std::vector<std::string>& channels, ir::Scalar stored,
           std::int64_t bias, double factor)
      : dag_(dag), channels_(channels), stored_(stored), bias_(bias), factor_(factor) {}

  void round_to_stored() {
    const Stage last = dag_.stages.back();
    const Elementwise e = like(last);
    dag_.stages.push_back(
        make_stage("rounded", e.axes, {}, ir::cast({stored_, 1}, at(last, e.indices))));
  }

  void append(const TailStep& step) {
    const Stage last = dag_.stages.back();
    const Elementwise e = like(last);
    const ir::Expr x = widened(at(last, e.indices));
    const auto push = [&](const char* name, const ir::Expr& value) {
      dag_.stages.push_back(make_stage(name, e.axes, {}, value));
    };
    if (step.name == "bias") {
      push("biased", x + per_channel("bias", kBiasStream, last, e, of_sums(last)));
    } else if (step.name == "multiply") {
      push("scaled", x * per_channel("factor", kFactorStream, last, e, of_sums(last)));
    } else if (step.name == "add") {
      std::vector<std::pair<std::string, std::int64_t>> dims;
      for (const Axis& axis : last.axes) dims.emplace_back(axis.name, axis.extent);
      const Stage residual =
          last.buffer->type.is_float()
              ? make_placeholder("residual", dims, ir::Role::Input, kResidualStream, 1, stored_)
              : make_int_placeholder("residual", dims, ir::Role::Input, kResidualStream,
                                     ir::Scalar::Int8, kIntResidual);
      dag_.stages.push_back(residual);
      push("added", x + widened(at(residual, e.indices)));
    } else if (step.name == "relu") {
      push("activated", ir::binary(ir::BinaryOp::Max, x, ir::zero_of(x->type)));
    } else if (step.name == "relu6") {
      push("activated6", clip(x, 0, 6));
    } else if (step.name == "leaky_relu") {
      push("leaky", ir::binary(ir::BinaryOp::Max, x, x * ir::float_imm(step.slope)));
    } else if (step.name == "clip") {
      push("clipped", clip(x, double(step.low), double(step.high)));
    } else if (step.name == "shift_right") {
      const ir::Expr half = ir::int_imm(std::int64_t{1} << (step.low - 1));
      push("shifted", ir::binary(ir::BinaryOp::ShiftRight, x + half, ir::int_imm(step.low)));
    } else if (step.name == "requantize") {
      const ir::Expr factor = per_channel("factor", kFactorStream, last, e, ir::Scalar::Float32);
      push("requantized", rounded_to_int32(ir::cast(ir::kFloat32, x) * factor));
    } else if (step.name == "cast") {
      push("cast", ir::cast({ir::Scalar::Int8, 1}, x));
    } else {
      dag_.tail_error = kActivationError;
      push(step.name.c_str(), step.name == "sigmoid"      ? sigmoid(x)
                              : step.name == "swish"      ? swish(x)
                              : step.name == "hard_swish" ? hard_swish(x)
                              : step.name == "gelu"       ? gelu(x)
                                                          : hyperbolic_tangent(x));
    }
  }

 private:
  static ir::Scalar of_sums(const Stage& last) {
    return last.buffer->type.is_float() ? ir::Scalar::Float32 : ir::Scalar::Int32;
  }

  ir::Expr per_channel(const char* name, std::uint64_t stream, const Stage& last,
                       const Elementwise& e, ir::Scalar type) {
    std::vector<std::pair<std::string, std::int64_t>> dims;
    std::vector<ir::Expr> indices;
    for (std::size_t d = 0; d < last.axes.size(); ++d) {
      const bool named =
          std::find(channels_.begin(), channels_.end(), last.axes[d].name) != channels_.end();
      if (!named && !(channels_.empty() && d + 1 == last.axes.size())) continue;
      dims.emplace_back(last.axes[d].name, last.axes[d].extent);
      indices.push_back(e.indices[d]);
    }
    const Stage constant = type == ir::Scalar::Float32
                               ? make_placeholder(name, dims, ir::Role::Constant, stream, factor_)
                               : make_int_placeholder(name, dims, ir::Role::Constant, stream,
                                                      ir::Scalar::Int32, bias_);
    dag_.stages.push_back(constant);
    return at(constant, indices);
  }

  ComputeDag& dag_;
  const std::vector<std::string>& channels_;
  ir::Scalar stored_;
  std::int64_t bias_;
  double factor_;
};

}  // namespace

std::string leaky_relu_step(double slope) {
  if (!(slope >= 0 && slope <= 1)) return {};
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, static_cast<float>(slope)).ptr;
  return "leaky_relu " + std::string(text, end);
}

bool has_channel_constants(const OperatorCall& call) {
  return call.has_tail("bias") || call.has_tail("multiply") || call.has_tail("requantize");
}

void append_tail(ComputeDag& dag, const OperatorCall& call,
                 const std::vector<std::string>& channels) {
  const bool quantized = !dag.stages.back().buffer->type.is_float();
  const auto steps = parse_tail(nlohmann::json(call.tail()), quantized);  // checked before
  const bool half = call.scalar() == ir::Scalar::Float16;
  const std::int64_t bias = quantized ? fit_fills(dag, *steps) : 0;
  const double factor = quantized ? fitted_factor(dag) : 1;
  Appender appender(dag, channels, half ? ir::Scalar::Float16 : ir::Scalar::Float32, bias, factor);
  for (const TailStep& step : *steps) appender.append(step);
  if (half) appender.round_to_stored();
  dag.stages.back().role = ir::Role::Output;
}

}  // namespace fettle::space
