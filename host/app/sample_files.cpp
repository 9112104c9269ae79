// Reading samples (sample_files.h).
#include "host/app/sample_files.h"

#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "host/space/tensor.h"
#include "host/space/wire_types.h"
#include "runtime/run/tensors.h"

namespace fettle::app {
namespace {

Error invalid(std::string what) { return {ErrorCode::InvalidArgument, std::move(what)}; }

std::string names_of(const model::Graph& graph) {
  std::string names;
  for (const model::ValueId id : graph.inputs) names += " " + graph.values[id].name;
  return names;
}

// A file, and the place of the input that it names.
struct Named {
  std::string file;
  std::optional<std::size_t> input;
};

Result<Named> named(const model::Graph& graph, const std::string& given) {
  const std::size_t equal = given.find('=');
  if (equal == std::string::npos) return Named{given, {}};
  const std::string name = given.substr(0, equal);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.values[graph.inputs[i]].name == name) return Named{given.substr(equal + 1), i};
  }
  std::error_code none;
  if (std::filesystem::exists(given, none)) return Named{given, {}};
  return invalid("no input " + name + "; the network has" + names_of(graph));
}

// Of each input its files; sample by sample.
Result<std::vector<std::vector<std::string>>> by_input(const model::Graph& graph,
                                                       const std::vector<std::string>& files) {
  const std::size_t inputs = graph.inputs.size();
  std::vector<std::vector<std::string>> out(inputs);
  std::size_t with_name = 0;
  for (const std::string& given : files) {
    const auto one = named(graph, given);
    if (!one) return one.error();
    with_name += one->input ? 1 : 0;
    for (std::size_t i = 0; i < inputs; ++i) {
      if (!one->input || one->input == i) out[i].push_back(one->file);
    }
    if (!one->input && inputs > 1 && !one->file.ends_with(".npz")) {
      return invalid(one->file + " names no input, as in INPUT=FILE; the network has" +
                     names_of(graph));
    }
  }
  if (inputs > 1 && with_name != 0 && with_name != files.size()) {
    return invalid("some samples name their input and others do not");
  }
  for (std::size_t i = 1; i < inputs; ++i) {
    if (out[i].size() == out[0].size()) continue;
    return invalid(fmt::format("{} files of {}, but {} of {}", out[0].size(),
                               graph.values[graph.inputs[0]].name, out[i].size(),
                               graph.values[graph.inputs[i]].name));
  }
  return out;
}

Result<void> check_finite(const model::Value& input, const std::string& file, const Bytes& bytes) {
  const ir::DataType type{input.type.scalar};
  if (!type.is_float()) return {};
  const auto numbers = space::to_doubles(bytes, type);
  if (!numbers) return numbers.error();
  for (std::size_t i = 0; i < numbers->size(); ++i) {
    if (std::isfinite((*numbers)[i])) continue;
    return invalid(fmt::format("{}: element {} of the input {} is {}", file, i, input.name,
                               std::isnan((*numbers)[i]) ? "not a number" : "infinite"));
  }
  return {};
}

}  // namespace

Result<std::vector<model::Sample>> read_samples(const model::Graph& graph,
                                                const std::vector<std::string>& files,
                                                const ImageRule& image) {
  const auto of_inputs = by_input(graph, files);
  if (!of_inputs) return of_inputs.error();
  std::vector<model::Sample> samples(of_inputs->empty() ? 0 : of_inputs->front().size());
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const model::Value& input = graph.values[graph.inputs[i]];
    wire::NetworkTensorT tensor;
    tensor.name = input.name;
    tensor.dtype = space::wire_type(input.type.scalar);
    tensor.shape = input.type.shape;
    for (std::size_t s = 0; s < samples.size(); ++s) {
      const std::string& file = (*of_inputs)[i][s];
      auto bytes = run::input_of_file(
          tensor, file, image,
          graph.inputs.size() == 1 ? LoneArray::OfAnyName : LoneArray::OfItsName);
      if (!bytes) return std::move(bytes).error();
      if (auto finite = check_finite(input, file, *bytes); !finite) {
        return std::move(finite).error();
      }
      samples[s].push_back(std::make_shared<const std::vector<std::uint8_t>>(std::move(*bytes)));
    }
  }
  return samples;
}

}  // namespace fettle::app
