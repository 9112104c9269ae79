// The kinds of references (kernel_reference.h).
#include "host/kernel_reference/kernel_reference.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "host/kernel_reference/c_function.h"
#include "host/process/run_program.h"
#include "host/space/own_kernel/kernel_space.h"
#include "host/space/tensor.h"
#include "host/space/workload.h"
#include "runtime/tensor_files/npy.h"
#include "schemas/wire/content_hash.h"

namespace fettle::kernel_reference {
namespace {

using space::ExpectedTensor;
using space::KernelArgument;
using space::OwnKernel;

constexpr double kOff = 1e-4, kOffFloat16 = 1e-2;

std::vector<std::int64_t> shape_of(const KernelArgument& argument, const OwnKernel& kernel) {
  std::vector<std::int64_t> shape;
  for (const std::string& axis : argument.shape) {
    shape.push_back(space::evaluate_integer(axis, space::constants_of(kernel)).value());
  }
  return shape;
}

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  return elements;
}

std::string text_of(const std::vector<std::int64_t>& shape, ir::DataType type) {
  std::string text;
  for (const std::int64_t extent : shape)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text + " of " + ir::to_string(type);
}

// The root of the mean square of what is finite and not 0, and no more than ten times its median:
// a mask's -1e9 would make any answer right.
double usual_magnitude(const std::vector<double>& values) {
  std::vector<double> magnitudes;
  double squares = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    squares += value * value;
    if (value != 0) magnitudes.push_back(std::abs(value));
  }
  if (magnitudes.empty()) return 0;
  const auto middle = magnitudes.begin() + std::ssize(magnitudes) / 2;
  std::nth_element(magnitudes.begin(), middle, magnitudes.end());
  return std::min(std::sqrt(squares / double(values.size())), 10 * *middle);
}

Result<space::Tolerance> tolerance_of(const ExpectedTensor& tensor) {
  if (!tensor.type.is_float()) return space::Tolerance{};
  const auto values = space::to_doubles(tensor.bytes, tensor.type);
  if (!values) return values.error();
  const double off = tensor.type.scalar == ir::Scalar::Float16 ? kOffFloat16 : kOff;
  return space::Tolerance{off * usual_magnitude(*values), off};
}

std::vector<const KernelArgument*> outputs_of(const OwnKernel& kernel) {
  std::vector<const KernelArgument*> outputs;
  for (const KernelArgument& argument : kernel.arguments) {
    if (argument.role == ir::Role::Output) outputs.push_back(&argument);
  }
  return outputs;
}

std::vector<ExpectedTensor> named(const OwnKernel& kernel,
                                  std::vector<std::vector<std::uint8_t>> outputs) {
  std::vector<ExpectedTensor> expected;
  for (const KernelArgument* argument : outputs_of(kernel)) {
    expected.push_back({argument->name, argument->type, std::move(outputs[expected.size()]), {}});
  }
  return expected;
}

// A DAG brings its own.
Result<std::vector<ExpectedTensor>> with_tolerances(const OwnKernel& kernel,
                                                    std::vector<ExpectedTensor> expected) {
  for (ExpectedTensor& tensor : expected) {
    if (kernel.reference.tolerance) {
      tensor.tolerance = *kernel.reference.tolerance;
    } else if (kernel.reference.kind != space::KernelReference::Kind::Workload) {
      auto tolerance = tolerance_of(tensor);
      if (!tolerance) return std::move(tolerance).error();
      tensor.tolerance = *tolerance;
    }
  }
  return expected;
}

Result<std::vector<ExpectedTensor>> by_function(const OwnKernel& kernel,
                                                const std::stop_token& stop) {
  std::vector<std::vector<std::uint8_t>> inputs;
  for (const KernelArgument& argument : kernel.arguments) {
    if (argument.role != ir::Role::Input || argument.value) continue;
    auto buffer = std::make_shared<ir::BufferDecl>();
    buffer->name = argument.name;
    buffer->type = argument.type;
    buffer->shape = shape_of(argument, kernel);
    auto bytes = space::filled(buffer, argument.fill);
    if (!bytes) return std::move(bytes).error().in("filling " + argument.name);
    inputs.push_back(std::move(*bytes));
  }
  auto outputs = run_c_function(kernel, inputs, stop);
  if (!outputs) return std::move(outputs).error();
  return named(kernel, std::move(*outputs));
}

Result<std::vector<ExpectedTensor>> by_arrays(const OwnKernel& kernel, const std::string& folder) {
  std::vector<ExpectedTensor> expected;
  for (const KernelArgument* argument : outputs_of(kernel)) {
    const auto& named = kernel.reference.arrays[expected.size()];
    const std::string path = (std::filesystem::path(folder) / named.file).string();
    const std::string contents = process::read_file(path);
    const auto* data = reinterpret_cast<const std::uint8_t*>(contents.data());
    if (to_hex(content_hash({data, contents.size()})) != named.hash) {
      return Error{ErrorCode::NotFound, path + " is not there as it was when this task was stated"};
    }
    auto array = parse_npy(contents);
    if (!array) return std::move(array).error().in("reading " + path);
    const std::vector<std::int64_t> shape = shape_of(*argument, kernel);
    const ir::DataType type{static_cast<ir::Scalar>(array->type), 1};  // host/space/wire_types.h
    if (type != argument->type || array->shape != shape) {
      return Error{ErrorCode::InvalidArgument, path + " is " + text_of(array->shape, type) +
                                                   ", the output " + argument->name + " is " +
                                                   text_of(shape, argument->type)};
    }
    expected.push_back({argument->name, argument->type, std::move(array->bytes), {}});
  }
  return expected;
}

// The DAG's inputs become the kernel's, of the same names.
Result<std::vector<ExpectedTensor>> by_workload(const OwnKernel& kernel,
                                                const std::stop_token& stop) {
  const std::string& file = kernel.reference.source.file;
  const auto bad = [&](const std::string& what) {
    return Error{ErrorCode::InvalidArgument, "the reference " + file + ": " + what};
  };
  const auto workload = space::Workload::parse(kernel.reference.source.text);
  if (!workload) return bad(workload.error().message);
  if (workload->kernel()) return bad("it is a kernel, no operator or DAG");
  space::ComputeDag dag = workload->dag();
  for (space::Stage& stage : dag.stages) {
    if (!stage.placeholder()) continue;
    const auto argument = std::find_if(
        kernel.arguments.begin(), kernel.arguments.end(), [&](const KernelArgument& each) {
          return each.name == stage.name && each.role == ir::Role::Input && !each.value;
        });
    if (argument == kernel.arguments.end()) {
      return bad("its input " + stage.name + " is no input of the kernel");
    }
    const std::vector<std::int64_t> shape = shape_of(*argument, kernel);
    if (stage.buffer->type != argument->type || product(stage.buffer->shape) != product(shape)) {
      return bad("its input " + stage.name + " is " +
                 text_of(stage.buffer->shape, stage.buffer->type) + ", the kernel's is " +
                 text_of(shape, argument->type));
    }
    stage.fill = argument->fill;
  }
  auto expected = space::evaluate(dag, stop);
  if (!expected) return expected;
  const auto outputs = outputs_of(kernel);
  if (expected->size() != outputs.size()) return bad("it has one output, the kernel has more");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::vector<std::int64_t> shape = shape_of(*outputs[i], kernel);
    const auto bytes = std::size_t(product(shape)) * std::size_t(outputs[i]->type.bytes());
    if ((*expected)[i].type != outputs[i]->type || (*expected)[i].bytes.size() != bytes) {
      return bad("its output is not " + text_of(shape, outputs[i]->type) + " as the kernel's " +
                 outputs[i]->name);
    }
  }
  return expected;
}

}  // namespace

Result<std::vector<ExpectedTensor>> evaluate(const OwnKernel& kernel, const std::string& folder,
                                             const std::stop_token& stop) {
  using Kind = space::KernelReference::Kind;
  const auto expected = [&]() -> Result<std::vector<ExpectedTensor>> {
    switch (kernel.reference.kind) {
      case Kind::Function:
        return by_function(kernel, stop);
      case Kind::Arrays:
        return by_arrays(kernel, folder);
      case Kind::Workload:
        return by_workload(kernel, stop);
      case Kind::Kernel:
        break;
    }
    return Error{ErrorCode::Unsupported,
                 "the reference " + kernel.reference.source.file + " runs on a device only"};
  }();
  if (!expected) return expected;
  return with_tolerances(kernel, *expected);
}

Result<std::vector<ExpectedTensor>> judged(const OwnKernel& kernel,
                                           std::vector<std::vector<std::uint8_t>> outputs) {
  return with_tolerances(kernel, named(kernel, std::move(outputs)));
}

}  // namespace fettle::kernel_reference
