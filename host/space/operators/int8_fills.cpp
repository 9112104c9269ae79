// Fitting int8 fills to tails (int8_fills.h). Sums of many values are taken to be normally
// distributed, biases are uniformly.
#include "host/space/operators/int8_fills.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace fettle::space {

namespace {

// In units of the end of a range from 0: a normal distribution that is symmetric around 0 has
// 40 % inside up to a deviation of 1 / 1.28, a uniform one up to a magnitude of 1 / 0.8.
constexpr double kWidestSums = 0.75, kWidestBias = 1.25;
constexpr double kFitted = 0.5;      // for what is wider: 48 % of a normal distribution
constexpr double kPlainBias = 1000;  // where outputs are no sums of products
// Deviation that a factor per channel brings sums to, at its largest: inside of int8 with a bias.
constexpr double kRequantized = 96;
const double kWithBias = std::sqrt(4. / 3);  // sums, and a bias of as much uniformly

bool is_operand(const Stage& stage) {  // not a bias, which is int32
  return stage.placeholder() && stage.buffer->type.scalar == ir::Scalar::Int8;
}

std::vector<Stage*> operands(ComputeDag& dag) {
  std::vector<Stage*> found;
  for (Stage& stage : dag.stages) {
    if (is_operand(stage)) found.push_back(&stage);
  }
  std::stable_sort(found.begin(), found.end(), [](const Stage* a, const Stage* b) {
    return a->role == ir::Role::Constant && b->role != ir::Role::Constant;
  });
  return found;
}

// Returns what is left to narrow by: something where the operand is -1, 0 and 1 already.
double narrow(Stage& operand, double factor) {
  const double magnitude = std::max(1.0, std::round(operand.fill.high * factor));
  const double left = factor * operand.fill.high / magnitude;
  operand.fill.low = -magnitude;
  operand.fill.high = magnitude;
  return magnitude > 1 ? 1.0 : std::min(1.0, left);
}

}  // namespace

bool of_products(const ComputeDag& dag) {
  return std::any_of(dag.stages.begin(), dag.stages.end(), [](const Stage& stage) {
    const auto* binary = stage.body ? std::get_if<ir::Binary>(&stage.body->node) : nullptr;
    return binary && binary->op == ir::BinaryOp::Mul;
  });
}

double typical_output(const ComputeDag& dag) {
  double product = 1, largest = 0;
  for (const Stage& stage : dag.stages) {
    if (!is_operand(stage)) continue;
    product *= stage.fill.high;
    largest = std::max(largest, stage.fill.high);
  }
  const double length = double(reduction_length(dag));
  if (of_products(dag)) return product / 3 * std::sqrt(length);
  const bool mean = dag.stages.back().name == "mean";
  return largest / std::sqrt(3.) * std::sqrt(length) / (mean ? length : 1);
}

double fitted_factor(const ComputeDag& dag) { return kRequantized / typical_output(dag); }

std::int64_t fit_fills(ComputeDag& dag, const std::vector<TailStep>& steps) {
  const bool by_factors = std::any_of(steps.begin(), steps.end(), [](const TailStep& step) {
    return step.name == "requantize";  // which are fitted instead
  });
  if (by_factors) return std::max<std::int64_t>(1, std::int64_t(typical_output(dag)));
  // Of the first clip, in units of the operator's outputs; 0: there is none.
  double end = 0, scale = 1, bias_scale = 1;
  bool biased = false;
  for (const TailStep& step : steps) {
    if (step.name == "shift_right") scale *= std::exp2(double(step.low));
    if (step.name == "bias" && end == 0) biased = true, bias_scale = scale;
    if (step.name != "clip" || end > 0) continue;
    end = scale * std::max(std::fabs(double(step.low)), std::fabs(double(step.high)));
  }
  const bool products = of_products(dag);
  const double spread = typical_output(dag) * (products && biased ? kWithBias : 1);
  if (end > 0 && spread > kWidestSums * end) {
    double factor = kFitted * end / spread;
    for (Stage* operand : operands(dag)) {
      const double left = narrow(*operand, factor);
      if (products) factor = left;
    }
  }
  double bias = products ? typical_output(dag) : kPlainBias;
  if (end > 0 && bias > kWidestBias * end) bias = kFitted * end;
  return std::max<std::int64_t>(1, std::int64_t(bias / bias_scale));
}

Result<void> require_outputs(const OperatorCall& call) {
  const auto& tail = call.tail();
  const bool shifts = std::any_of(tail.begin(), tail.end(), [](const std::string& step) {
    return step.starts_with("shift_right");
  });
  if (call.scalar() != ir::Scalar::Int8 || !shifts) return {};
  const ComputeDag dag = call.dag();
  const auto steps = parse_tail(nlohmann::json(tail), true);  // checked before
  const double widest = 127. * 127 / 3 * std::sqrt(double(reduction_length(dag)));
  for (const TailStep& step : *steps) {
    if (step.name != "shift_right" || !of_products(dag) || widest >= std::exp2(double(step.low))) {
      continue;
    }
    return Error{ErrorCode::Unsupported,
                 "tail \"shift_right " + std::to_string(step.low) + "\" leaves next to nothing: " +
                     "sums of " + std::to_string(reduction_length(dag)) +
                     " products of random int8 are about " + std::to_string(std::int64_t(widest)) +
                     ", so no output could show whether a kernel is right"};
  }
  return {};
}

}  // namespace fettle::space
