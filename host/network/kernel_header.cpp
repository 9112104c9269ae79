// Headers of exported kernels (kernel_header.h).
#include "host/network/kernel_header.h"

#include <set>

#include <fmt/format.h>

#include "host/network/c_text.h"
#include "host/space/own_kernel/kernel_space.h"

namespace fettle::network {
namespace {

struct Parameter {
  std::string name, declared, described;
};

// In the order of the program's buffers, names of their own.
std::vector<Parameter> parameters_of(const wire::ProgramT& program, const space::Workload& workload,
                                     const std::vector<std::uint32_t>& buffers) {
  std::vector<Parameter> parameters;
  std::set<std::string> taken = {"workspace"};
  for (const std::uint32_t index : buffers) {
    const wire::BufferT& buffer = *program.buffers[index];
    const bool written = buffer.role == wire::BufferRole::Output;
    const wire::ScalarType type = buffer.fill ? buffer.fill->dtype : wire::ScalarType::UInt8;
    Parameter one;
    one.name = (written ? "out_" : "in_") + c_name(buffer.name);
    while (!taken.insert(one.name).second) one.name += "_";
    one.declared = fmt::format("{}{}* {}", written ? "" : "const ", c_type(type).name, one.name);
    one.described =
        fmt::format(" *   {}: {}; {}\n", one.name, tensor_words(type, shape_of(workload, buffer)),
                    written ? "written" : "read");
    parameters.push_back(std::move(one));
  }
  return parameters;
}

std::string declared(const std::vector<Parameter>& parameters, std::size_t indent) {
  std::string text;
  for (const Parameter& one : parameters) {
    text += fmt::format(",\n{:>{}}{}", "", indent, one.declared);
  }
  return text;
}

std::string described(const std::vector<Parameter>& parameters) {
  std::string text;
  for (const Parameter& one : parameters) text += one.described;
  return text;
}

}  // namespace

std::vector<std::int64_t> shape_of(const space::Workload& workload, const wire::BufferT& buffer) {
  for (const space::Stage& stage : workload.dag().stages) {
    if (stage.name == buffer.name || stage.buffer->name == buffer.name) return stage.buffer->shape;
  }
  if (const space::OwnKernel* kernel = workload.kernel()) {
    const space::KernelValues constants = space::constants_of(*kernel);
    for (const space::KernelArgument& argument : kernel->arguments) {
      if (argument.name != buffer.name) continue;
      std::vector<std::int64_t> shape;
      for (const std::string& extent : argument.shape) {
        const auto value = space::evaluate_integer(extent, constants);
        if (!value) break;  // by a knob: as one axis
        shape.push_back(*value);
      }
      if (shape.size() == argument.shape.size()) return shape;
    }
  }
  const std::size_t each = buffer.fill ? bytes_of(buffer.fill->dtype) : 1;
  return {static_cast<std::int64_t>(buffer.bytes / each)};
}

std::string kernel_header(const wire::ProgramT& program, const space::Workload& workload,
                          const std::string& target, const std::string& name,
                          const LibraryParameters& parameters) {
  const auto init = parameters_of(program, workload, parameters.init);
  const auto run = parameters_of(program, workload, parameters.run);
  return fmt::format(
      R"(/* {title}, written by fettle. C99; link lib{name}.a.
 *   {source}
 * Compiled for a CPU of
 *   {cpu};
 * nothing checks that it is one. The library needs nothing but libc's memset and keeps no state:
 * all that changes lies in the workspace. */
#ifndef FETTLE_{name}_H
#define FETTLE_{name}_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* What every tensor's address must be a multiple of, in bytes (aligned_alloc). */
#define {upper}_ALIGNMENT {alignment}

/* Bytes of a workspace: what {name}_init makes of constants, and values between steps. */
size_t {name}_workspace_bytes(void);

/* Prepares `workspace`: {name}_workspace_bytes() bytes at any address, the caller's, with any
 * contents. Once, before {name}_run; the workspace must not be moved or written to in
 * between. Runs on the calling thread.
{init_words} * {init_returns} */
{init_type} {name}_init(void* workspace{init});

/* One run, on the calling thread. `workspace`: as {name}_init left it, or a run; one run at a
 * time in each, several workspaces at the same time on several threads.
{run_words} * All of the caller's, at multiples of {upper}_ALIGNMENT; what is written overlaps nothing else.
 * Returns 0, or -1 when one is not so aligned, and nothing is done. */
int {name}_run(void* workspace{run});

#ifdef __cplusplus
}}
#endif
#endif
)",
      fmt::arg("title", in_comment(workload.title())), fmt::arg("name", name),
      fmt::arg("source", in_comment(workload.source())), fmt::arg("cpu", cpu_words(target, {})),
      fmt::arg("upper", upper_case(name)), fmt::arg("alignment", parameters.alignment),
      fmt::arg("init_words", described(init)),
      fmt::arg("init_returns",
               init.empty() ? "It reads nothing else."
                            : "They are not read any more. Returns 0, or -1 when one is not at a "
                              "multiple of " +
                                  upper_case(name) + "_ALIGNMENT."),
      fmt::arg("init_type", init.empty() ? "void" : "int"),
      fmt::arg("init", declared(init, name.size() + 10)), fmt::arg("run_words", described(run)),
      fmt::arg("run", declared(run, name.size() + 9)));
}

}  // namespace fettle::network
