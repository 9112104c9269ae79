// Languages, and a kernel as JSON (own_kernel.h).
#include "host/space/own_kernel/own_kernel.h"

#include <nlohmann/json.hpp>

namespace fettle::space {
namespace {

using Json = nlohmann::json;

struct LanguageRow {
  KernelLanguage language;
  const char *ending, *name;
};
constexpr LanguageRow kLanguages[] = {{KernelLanguage::OpenClC, ".cl", "OpenCL C"},
                                      {KernelLanguage::CudaC, ".cu", "CUDA C++"},
                                      {KernelLanguage::Ptx, ".ptx", "PTX"},
                                      {KernelLanguage::C, ".c", "C"}};

Json fill_json(const ir::Fill& fill) {
  if (fill.kind == ir::Fill::Kind::Zero) return "zero";
  return {{"low", fill.low}, {"high", fill.high}, {"stream", fill.stream}};
}

Json argument_json(const KernelArgument& argument) {
  Json json = {{"name", argument.name}, {"type", ir::to_string(argument.type)}};
  if (argument.value) {
    json["value"] = *argument.value;
    return json;
  }
  json["shape"] = argument.shape;
  const char* const roles[] = {"input", "output", "constant", "scratch"};
  json["role"] = roles[int(argument.role)];
  if (argument.role == ir::Role::Input) json["fill"] = fill_json(argument.fill);
  return json;
}

Json launch_json(const KernelLaunch& launch, const OwnKernel& kernel) {
  Json json = {{"entry", launch.entry}, {"arguments", Json::array()}};
  for (const std::size_t argument : launch.arguments) {
    json["arguments"].push_back(kernel.arguments[argument].name);
  }
  if (kernel.language == KernelLanguage::C) {
    if (!launch.parallel.empty()) json["parallel"] = launch.parallel;
    return json;
  }
  json["blocks"] = launch.blocks, json["threads"] = launch.threads;
  json["shared_bytes"] = launch.shared_bytes;
  return json;
}

Json reference_json(const KernelReference& reference) {
  Json json = Json::object();
  if (reference.kind == KernelReference::Kind::Arrays) {
    json["arrays"] = Json::array();
    for (const auto& array : reference.arrays) {
      json["arrays"].push_back({{"file", array.file}, {"hash", array.hash}});
    }
  } else {
    json["file"] = reference.source.file, json["text"] = reference.source.text;
    if (!reference.entry.empty()) json["function"] = reference.entry;
    if (reference.kind == KernelReference::Kind::Kernel) {
      json["blocks"] = reference.blocks, json["threads"] = reference.threads;
    }
  }
  if (reference.tolerance) {
    json["absolute"] = reference.tolerance->absolute;
    json["relative"] = reference.tolerance->relative;
  }
  return json;
}

}  // namespace

const char* name_of(KernelLanguage language) {
  return kLanguages[static_cast<std::size_t>(language)].name;
}

std::optional<KernelLanguage> kernel_language(const std::string& file) {
  for (const LanguageRow& row : kLanguages) {
    if (file.ends_with(row.ending)) return row.language;
  }
  return std::nullopt;
}

Json json_of(const OwnKernel& kernel) {
  Json json = {{"title", kernel.title},
               {"file", kernel.source.file},
               {"source", kernel.source.text},
               {"options", kernel.options},
               {"operations", kernel.operations},
               {"constants", Json::object()},
               {"knobs", Json::object()},
               {"constraints", kernel.constraints},
               {"argument", Json::array()},
               {"launch", Json::array()},
               {"reference", reference_json(kernel.reference)}};
  for (const auto& constant : kernel.constants) json["constants"][constant.name] = constant.value;
  for (const auto& knob : kernel.knobs) json["knobs"][knob.name] = knob.values;
  for (const auto& argument : kernel.arguments) json["argument"].push_back(argument_json(argument));
  for (const auto& launch : kernel.launches) json["launch"].push_back(launch_json(launch, kernel));
  return json;
}

}  // namespace fettle::space
