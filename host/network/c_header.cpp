// Headers of exported libraries (c_header.h).
#include "host/network/c_header.h"

#include <set>

#include <fmt/format.h>

#include "host/network/c_text.h"

namespace fettle::network {
namespace {

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

std::string tensor_lines(const Tensors& list, const std::string* name, bool written) {
  std::string text;
  for (const auto& tensor : list) {
    text += fmt::format(" *   {}: {}; {} (\"{}\")\n", *name++,
                        tensor_words(tensor->dtype, tensor->shape), written ? "written" : "read",
                        in_comment(tensor->name));
  }
  return text;
}

}  // namespace

std::string c_header(const wire::NetworkT& network, const backend::StaticLibrary& library,
                     std::uint32_t alignment) {
  const std::string& name = library.name;
  const std::string upper = upper_case(name);
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
#ifndef FETTLE_{name}_H
#define FETTLE_{name}_H

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
      fmt::arg("cpu", cpu_words(network.target, network.cpu_features)), fmt::arg("upper", upper),
      fmt::arg("alignment", alignment),
      fmt::arg("inputs", tensor_lines(network.inputs, names.data(), false)),
      fmt::arg("outputs",
               tensor_lines(network.outputs, names.data() + network.inputs.size(), true)),
      fmt::arg("parameters", parameters));
}

}  // namespace fettle::network
