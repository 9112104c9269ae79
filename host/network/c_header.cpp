// Headers of exported libraries (c_header.h).
#include "host/network/c_header.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/network/c_library.h"
#include "host/space/cpu_target.h"

namespace fettle::network {
namespace {

struct CType {
  const char* name;
  const char* words;
};

CType c_type(wire::ScalarType type) {
  switch (type) {
    case wire::ScalarType::Bool:
      return {"uint8_t", "bool, 0 or 1"};
    case wire::ScalarType::Int8:
      return {"int8_t", "int8"};
    case wire::ScalarType::UInt8:
      return {"uint8_t", "uint8"};
    case wire::ScalarType::Int16:
      return {"int16_t", "int16"};
    case wire::ScalarType::Int32:
      return {"int32_t", "int32"};
    case wire::ScalarType::Int64:
      return {"int64_t", "int64"};
    case wire::ScalarType::Float16:
      return {"uint16_t", "float16, its bits (IEEE 754 binary16)"};
    case wire::ScalarType::Float32:
      return {"float", "float32"};
    case wire::ScalarType::Float64:
      return {"double", "float64"};
  }
  return {"void", "unknown"};
}

using Tensors = std::vector<std::unique_ptr<wire::NetworkTensorT>>;

// Parameters' names, no two alike.
std::vector<std::string> parameter_names(const wire::NetworkT& network) {
  std::vector<std::string> names;
  std::set<std::string> taken = {"workspace"};
  for (const Tensors* list : {&network.inputs, &network.outputs}) {
    const char* const prefix = list == &network.inputs ? "in_" : "out_";
    for (const auto& tensor : *list) {
      std::string name = prefix + c_name(tensor->name);
      while (!taken.insert(name).second) name += "_";
      names.push_back(std::move(name));
    }
  }
  return names;
}

// Nothing in it ends a comment.
std::string in_comment(std::string text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (static_cast<unsigned char>(text[at]) < ' ') text[at] = ' ';
    if (text[at] == '*') text[at] = '_';
  }
  return text;
}

std::string tensor_lines(const Tensors& list, const std::string* name, bool written) {
  std::string text;
  for (const auto& tensor : list) {
    const CType type = c_type(tensor->dtype);
    std::int64_t count = 1;
    for (const std::int64_t extent : tensor->shape) count *= extent;
    text += fmt::format(" *   {}: {}, shape [{}], row-major: {} elements, {} bytes; {} (\"{}\")\n",
                        *name++, type.words, fmt::join(tensor->shape, ", "), count,
                        static_cast<std::uint64_t>(count) * bytes_of(tensor->dtype),
                        written ? "written" : "read", in_comment(tensor->name));
  }
  return text;
}

std::string cpu_line(const wire::NetworkT& network) {
  const auto target = space::CpuTarget::parse(network.target);
  std::string text = target ? target->arch : "?";
  if (target && !target->cpu.empty()) text += " (" + target->cpu + ")";
  if (network.cpu_features.empty()) return text;
  return fmt::format("{}, with\n *   {}", text, fmt::join(network.cpu_features, " "));
}

}  // namespace

std::string c_header(const wire::NetworkT& network, const backend::StaticLibrary& library,
                     std::uint32_t alignment) {
  const std::string& name = library.name;
  std::string upper = name;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const std::vector<std::string> names = parameter_names(network);
  std::string parameters;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool input = i < network.inputs.size();
    const auto& tensor = input ? network.inputs[i] : network.outputs[i - network.inputs.size()];
    parameters += fmt::format(",\n{:>{}}{}{}* {}", "", name.size() + 9, input ? "const " : "",
                              c_type(tensor->dtype).name, names[i]);
  }
  return fmt::format(
      R"(/* The network "{title}" as C functions, written by fettle. C99; link lib{name}.a.
 * Compiled for a CPU of
 *   {cpu};
 * nothing checks that it is one. The library needs nothing but libc's memset and keeps no state:
 * all that changes lies in the workspace. Weights are read-only data of the library. */
#ifndef {upper}_H
#define {upper}_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* What every tensor's address must be a multiple of, in bytes (aligned_alloc). */
#define {upper}_ALIGNMENT {alignment}

/* Bytes of a workspace: packed weights, and values between layers. */
size_t {name}_workspace_bytes(void);

/* Packs the weights into `workspace`: {name}_workspace_bytes() bytes at any address, the caller's,
 * with any contents. Once, before {name}_run; the workspace must not be moved or written
 * to in between. Runs on the calling thread. */
void {name}_init(void* workspace);

/* One run, on the calling thread. `workspace`: as {name}_init left it, or a run; one run at a
 * time in each, several workspaces at the same time on several threads.
{inputs}{outputs} * All of the caller's, at multiples of {upper}_ALIGNMENT; what is written overlaps nothing else.
 * Returns 0, or -1 when one is not so aligned, and nothing is done. */
int {name}_run(void* workspace{parameters});

#ifdef __cplusplus
}}
#endif
#endif
)",
      fmt::arg("title", in_comment(network.name)), fmt::arg("name", name),
      fmt::arg("cpu", cpu_line(network)), fmt::arg("upper", upper),
      fmt::arg("alignment", alignment),
      fmt::arg("inputs", tensor_lines(network.inputs, names.data(), false)),
      fmt::arg("outputs",
               tensor_lines(network.outputs, names.data() + network.inputs.size(), true)),
      fmt::arg("parameters", parameters));
}

}  // namespace fettle::network
