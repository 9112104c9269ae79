// Expressions of a kernel, and its space (kernel_space.h).
#include "host/space/own_kernel/kernel_space.h"

#include <algorithm>
#include <charconv>
#include <random>

#include <nlohmann/json.hpp>

#include "host/space/dag_text/expression_parser.h"
#include "schemas/wire/limits.h"

namespace fettle::space {
namespace {

constexpr int kSearched = 200'000;  // combinations, for one that fulfils the constraints

// All names are literals by then, so that the expression is one too.
Result<ir::Expr> evaluated(const std::string& expression, const KernelValues& values) {
  ExpressionScope scope;
  for (const std::string& name : names_in(expression)) {
    const auto value = values.find(name);
    if (value != values.end()) scope.values[name] = ir::int_imm(value->second, ir::kInt64);
  }
  auto parsed = parse_expression(expression, scope);
  if (!parsed) return std::move(parsed).error();
  return std::move(parsed->value);
}

// The device's figures: whole numbers of the target's text.
void add_device(const Target& target, KernelValues& values) {
  const nlohmann::json figures = nlohmann::json::parse(target.canonical());
  for (const auto& [name, value] : figures.items()) {
    if (value.is_number_integer()) values[kDevicePrefix + name] = value;
  }
}

Constraint constraint_of(const std::string& text, const OwnKernel& kernel,
                         const KernelValues& fixed) {
  std::vector<std::string> knobs;
  const std::vector<std::string> names = names_in(text);
  for (const OwnKernel::Knob& knob : kernel.knobs) {
    if (std::count(names.begin(), names.end(), knob.name) > 0) knobs.push_back(knob.name);
  }
  return {text, knobs, [=](std::span<const KnobValue* const> options) {
            KernelValues values = fixed;
            for (std::size_t k = 0; k < knobs.size(); ++k) values[knobs[k]] = options[k]->front();
            const auto holds = evaluate_condition(text, values);
            return holds && *holds;
          }};
}

Sketch sketch_of(const OwnKernel& kernel, const KernelValues& fixed) {
  Sketch sketch{kernel.launches.front().entry, {}};
  for (const OwnKernel::Knob& knob : kernel.knobs) {
    sketch.knobs.push_back({knob.name, {}});
    for (const std::int64_t value : knob.values) sketch.knobs.back().options.push_back({value});
  }
  for (const std::string& text : kernel.constraints) {
    sketch.constraints.push_back(constraint_of(text, kernel, fixed));
  }
  return sketch;
}

// Every constraint as it stands with the first value of each knob: whether it is one at all.
Result<void> check_constraints(const OwnKernel& kernel, KernelValues values) {
  for (const OwnKernel::Knob& knob : kernel.knobs) values[knob.name] = knob.values.front();
  for (const std::string& text : kernel.constraints) {
    if (auto holds = evaluate_condition(text, values); !holds) {
      return std::move(holds).error().in("constraint \"" + text + "\"");
    }
  }
  return {};
}

Result<void> check_not_empty(const SearchSpace& space) {
  const bool all = space.size() <= kSearched;
  std::mt19937_64 rng(1);
  for (int i = 0; i < (all ? int(space.size()) : kSearched); ++i) {
    const auto index = all ? std::uint64_t(i) : rng() % std::uint64_t(std::min(space.size(), 9e15));
    if (space.contains(space.at(index))) return {};
  }
  return Error{
      ErrorCode::InvalidArgument,
      all ? "the constraints leave no configuration"
          : "the constraints leave none of " + std::to_string(kSearched) + " configurations drawn"};
}

Result<std::array<std::int64_t, 3>> axes_of(const std::vector<std::string>& expressions,
                                            const char* what, const KernelValues& values) {
  std::array<std::int64_t, 3> axes = {1, 1, 1};
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    const auto value = evaluate_integer(expressions[i], values);
    if (!value) return value.error();
    if (*value < 1 || *value > limits::kGridExtent) {
      return Error{ErrorCode::BuildError,
                   "\"" + expressions[i] + "\" gives " + std::to_string(*value) + " " + what};
    }
    axes[i] = *value;
  }
  return axes;
}

Result<KernelPoint::Launch> launch_of(const KernelLaunch& from, const KernelValues& values) {
  KernelPoint::Launch launch;
  auto blocks = axes_of(from.blocks, "blocks", values);
  if (!blocks) return std::move(blocks).error();
  auto threads = axes_of(from.threads, "threads", values);
  if (!threads) return std::move(threads).error();
  launch.blocks = *blocks, launch.threads = *threads;
  const auto [x, y, z] = *threads;  // no axis is longer than 2^31: two of them cannot overflow
  if (x * y > limits::kBlockThreads || x * y * z > limits::kBlockThreads) {
    return Error{ErrorCode::BuildError, "a block of " + std::to_string(x) + " x " +
                                            std::to_string(y) + " x " + std::to_string(z) +
                                            " threads; no device takes more than " +
                                            std::to_string(limits::kBlockThreads)};
  }
  const auto shared = evaluate_integer(from.shared_bytes, values);
  if (!shared) return shared.error();
  if (*shared < 0 || *shared > limits::kSharedBytes) {
    return Error{ErrorCode::BuildError, "\"" + from.shared_bytes + "\" gives " +
                                            std::to_string(*shared) + " bytes of shared memory"};
  }
  launch.shared_bytes = *shared;
  if (from.parallel.empty()) return launch;
  auto parallel = axes_of({from.parallel}, "parallel iterations", values);
  if (!parallel) return std::move(parallel).error();
  launch.parallel = (*parallel)[0];
  return launch;
}

}  // namespace

std::vector<std::string> names_in(const std::string& expression) {
  const auto begins = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
  };
  const auto goes_on = [&](char c) { return begins(c) || (c >= '0' && c <= '9') || c == '.'; };
  std::vector<std::string> names;
  for (auto at = expression.begin(); at != expression.end();) {
    if (!goes_on(*at)) {
      ++at;
      continue;
    }
    const auto end = std::find_if_not(at, expression.end(), goes_on);
    if (begins(*at)) names.emplace_back(at, end);
    at = end;
  }
  return names;
}

KernelValues constants_of(const OwnKernel& kernel) {
  KernelValues values;
  for (const OwnKernel::Number& constant : kernel.constants) values[constant.name] = constant.value;
  return values;
}

Result<std::int64_t> evaluate_integer(const std::string& expression, const KernelValues& values) {
  auto result = evaluated(expression, values);
  if (!result) return std::move(result).error();
  const std::int64_t* value = ir::as_int(*result);
  if (value && !(*result)->type.is_bool()) return *value;
  return Error{ErrorCode::InvalidArgument, "\"" + expression + "\" is no whole number"};
}

Result<bool> evaluate_condition(const std::string& expression, const KernelValues& values) {
  auto result = evaluated(expression, values);
  if (!result) return std::move(result).error();
  const std::int64_t* value = ir::as_int(*result);
  if (value && (*result)->type.is_bool()) return *value != 0;
  return Error{ErrorCode::InvalidArgument, "\"" + expression + "\" is no condition"};
}

Result<std::int64_t> elements_of(const KernelArgument& argument, const KernelValues& values) {
  std::int64_t elements = 1;
  for (const std::string& axis : argument.shape) {
    const auto extent = evaluate_integer(axis, values);
    if (!extent) return extent.error();
    const auto most = std::int64_t(limits::kBufferBytes) / argument.type.bytes() / elements;
    if (*extent < 1 || *extent > most) {
      return Error{ErrorCode::InvalidArgument, argument.name + ": an axis \"" + axis + "\" of " +
                                                   std::to_string(*extent) +
                                                   " elements does not fit: an argument has 1 to " +
                                                   std::to_string(limits::kBufferBytes) + " bytes"};
    }
    elements *= *extent;
  }
  return elements;
}

Result<double> scalar_of(const KernelArgument& argument, const KernelValues& values) {
  const std::string& text = *argument.value;
  double real = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), real);
  if (argument.type.is_float() && read.ec == std::errc() && read.ptr == &text[text.size()]) {
    return real;
  }
  const auto whole = evaluate_integer(text, values);
  if (!whole) return whole.error();
  return double(*whole);
}

const char* c_type(ir::Scalar scalar) {
  switch (scalar) {
    case ir::Scalar::Int32:
      return "int";
    case ir::Scalar::Int64:
      return "long long";
    case ir::Scalar::Float32:
      return "float";
    default:
      return "double";
  }
}

Result<KernelSpace> KernelSpace::open(OwnKernel kernel, const Target& target) {
  KernelValues fixed = constants_of(kernel);
  add_device(target, fixed);
  if (auto checked = check_constraints(kernel, fixed); !checked) return std::move(checked).error();
  SearchSpace space({sketch_of(kernel, fixed)});
  if (auto some = check_not_empty(space); !some) return std::move(some).error();
  return KernelSpace(std::move(kernel), std::move(fixed), std::move(space));
}

Result<KernelPoint> KernelSpace::point(const Configuration& configuration) const {
  KernelPoint point;
  point.defines = kernel_.constants;
  KernelValues values = fixed_;
  for (std::size_t k = 0; k < kernel_.knobs.size(); ++k) {
    const std::int64_t value = kernel_.knobs[k].values[configuration.choice[k]];
    values[kernel_.knobs[k].name] = value;
    point.defines.push_back({kernel_.knobs[k].name, value});
  }
  const auto failed = [](Error error, const std::string& what) {
    error.code = ErrorCode::BuildError;
    return std::move(error).in(what);
  };
  for (const KernelArgument& argument : kernel_.arguments) {
    point.scalars.push_back(0);
    point.buffers.push_back({});
    if (argument.value) {
      auto value = scalar_of(argument, values);
      if (!value) return failed(std::move(value).error(), "argument " + argument.name);
      point.scalars.back() = *value;
    } else {
      auto elements = elements_of(argument, values);
      if (!elements) return failed(std::move(elements).error(), "argument " + argument.name);
      point.buffers.back().bytes = std::uint64_t(*elements) * std::uint64_t(argument.type.bytes());
    }
  }
  for (const KernelLaunch& launch : kernel_.launches) {
    auto made = launch_of(launch, values);
    if (!made) return failed(std::move(made).error(), "launch of " + launch.entry);
    point.launches.push_back(*made);
  }
  return point;
}

OwnKernel reference_kernel(const OwnKernel& kernel, const SearchSpace& space,
                           const Configuration& configuration) {
  OwnKernel reference = kernel;
  reference.source = kernel.reference.source;
  reference.constraints.clear();
  for (OwnKernel::Knob& knob : reference.knobs) {
    knob.values = space.value(configuration, knob.name.c_str());
  }
  std::erase_if(reference.arguments, [](const KernelArgument& argument) {
    return !argument.value && argument.role == ir::Role::Scratch;
  });
  KernelLaunch launch{
      kernel.reference.entry, {}, kernel.reference.blocks, kernel.reference.threads};
  for (std::size_t i = 0; i < reference.arguments.size(); ++i) launch.arguments.push_back(i);
  reference.launches = {launch};
  // It is judged by nothing.
  reference.reference = {};
  reference.reference.kind = KernelReference::Kind::Arrays;
  for (const KernelArgument& argument : reference.arguments) {
    if (argument.role == ir::Role::Output)
      reference.reference.arrays.push_back({argument.name, ""});
  }
  return reference;
}

std::string text_with_defines(const KernelSource& source,
                              const std::vector<OwnKernel::Number>& defines) {
  if (kernel_language(source.file) == KernelLanguage::Ptx) return source.text;
  std::string text;
  for (const OwnKernel::Number& define : defines) {
    text += "#define " + define.name + " " + std::to_string(define.value) + "\n";
  }
  return text + "#line 1 \"" + source.file + "\"\n" + source.text;
}

}  // namespace fettle::space
