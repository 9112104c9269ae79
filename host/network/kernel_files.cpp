// Libraries and launch descriptions of kernels (kernel_files.h).
#include "host/network/kernel_files.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "host/network/kernel_header.h"
#include "host/network/program_facts.h"
#include "host/space/cpu_target.h"

namespace fettle::network {
namespace {

using Json = nlohmann::json;
using wire::BufferRole;

std::vector<std::uint8_t> bytes_of_text(const std::string& text) {
  return {text.begin(), text.end()};
}

// Contents that the program itself brings.
bool has_contents(const wire::BufferT& buffer) {
  return buffer.fill && buffer.fill->kind == wire::FillKind::Blob;
}

// What the caller hands over: inputs, constants and outputs, where they are used.
LibraryParameters parameters_of(const wire::ProgramT& program) {
  std::vector<bool> of_init(program.buffers.size()), of_run(program.buffers.size());
  for (const auto& launch : program.launches) {
    for (const wire::Arg& arg : launch->args) {
      if (arg.kind() != wire::ArgKind::Buffer) continue;
      (launch->phase == wire::Phase::Prepare ? of_init : of_run)[arg.buffer()] = true;
    }
  }
  LibraryParameters parameters;
  for (std::uint32_t i = 0; i < program.buffers.size(); ++i) {
    const wire::BufferT& buffer = *program.buffers[i];
    if (buffer.role == BufferRole::Scratch || has_contents(buffer)) continue;
    if (of_init[i]) parameters.init.push_back(i);
    if (of_run[i]) parameters.run.push_back(i);
    parameters.alignment = std::max(parameters.alignment, buffer.alignment);
  }
  return parameters;
}

Result<std::vector<KernelFile>> cpu_files(const wire::ProgramT& program,
                                          const space::Workload& workload,
                                          const space::Target& target, const std::string& name) {
  const LibraryParameters parameters = parameters_of(program);
  const BlobLookup none = [](const wire::Hash&) { return ByteView(); };
  auto parts = program_library(program, none, name, parameters);
  if (!parts) return std::move(parts).error();
  auto archive = backend::write_static_library(parts->library, target);
  if (!archive) return std::move(archive).error();
  const std::string header = kernel_header(program, workload, target.canonical(), name, parameters);
  return std::vector<KernelFile>{{name + ".h", "the header of " + name, bytes_of_text(header)},
                                 {"lib" + name + ".a", "the library " + name, std::move(*archive)}};
}

// By kind; null: no file is made of it.
const char* suffix_of(wire::ImageKind kind) {
  switch (kind) {
    case wire::ImageKind::OpenClSource:
      return ".cl";
    case wire::ImageKind::Ptx:
      return ".ptx";
    case wire::ImageKind::Cubin:
      return ".cubin";
    case wire::ImageKind::VtaStream:
      return ".vta";
    default:
      return nullptr;
  }
}

Json json_of(const wire::Dim3* dim) {
  return dim ? Json{dim->x(), dim->y(), dim->z()} : Json{1, 1, 1};
}

Json json_of(const wire::Arg& arg) {
  switch (arg.kind()) {
    case wire::ArgKind::Buffer:
      return {{"buffer", arg.buffer()}, {"offset", arg.offset()}};
    case wire::ArgKind::TexelsFloat16:
    case wire::ArgKind::TexelsFloat32:
      return {{"texels_of_buffer", arg.buffer()},
              {"offset", arg.offset()},
              {"dtype", arg.kind() == wire::ArgKind::TexelsFloat16 ? "float16" : "float32"}};
    case wire::ArgKind::Int32:
      return {{"int32", arg.int_value()}};
    case wire::ArgKind::Int:
    case wire::ArgKind::Int64:
      return {{"int64", arg.int_value()}};
    case wire::ArgKind::Float32:
      return {{"float32", arg.real_value()}};
    case wire::ArgKind::Real:
    case wire::ArgKind::Float64:
      return {{"float64", arg.real_value()}};
  }
  return {};
}

Json json_of(const wire::LaunchT& launch, const wire::ProgramT& program) {
  const wire::ImageT& image = *program.images[launch.image];
  Json json{{"image", launch.image},
            {"entry", image.entries[launch.entry]->name},
            {"phase", launch.phase == wire::Phase::Prepare ? "prepare" : "run"},
            {"args", Json::array()}};
  for (const wire::Arg& arg : launch.args) json["args"].push_back(json_of(arg));
  if (image.kind == wire::ImageKind::VtaStream) {
    Json& list = json["relocations"] = Json::array();
    for (const wire::Relocation& one : launch.relocations) {
      list.push_back({one.instruction(), one.buffer(), one.offset()});
    }
    return json;
  }
  json["grid"] = json_of(launch.grid.get());
  json["block"] = json_of(launch.block.get());
  json["shared_bytes"] = launch.shared_bytes;
  return json;
}

// Images and contents as files of their own, the rest as JSON.
Result<std::vector<KernelFile>> described_files(const wire::ProgramT& program,
                                                const space::Workload& workload,
                                                const space::Target& target,
                                                const std::string& name) {
  static constexpr const char* kRoles[] = {"input", "output", "constant", "scratch"};
  std::vector<KernelFile> files;
  Json json{{"kernel", workload.title()},
            {"source", Json::parse(workload.source())},
            {"target", Json::parse(target.canonical())},
            {"images", Json::array()},
            {"buffers", Json::array()},
            {"launches", Json::array()}};
  for (std::size_t i = 0; i < program.images.size(); ++i) {
    const wire::ImageT& image = *program.images[i];
    const char* suffix = suffix_of(image.kind);
    if (!suffix) {
      return Error{ErrorCode::Unsupported, std::string("no file is made of code of the kind ") +
                                               wire::EnumNameImageKind(image.kind)};
    }
    const std::string file = name + (i == 0 ? "" : "_" + std::to_string(i)) + suffix;
    Json one{{"file", file}, {"kind", wire::EnumNameImageKind(image.kind)}};
    if (!image.build_options.empty()) one["build_options"] = image.build_options;
    if (!image.configuration.empty()) one["accelerator"] = image.configuration;
    for (const auto& entry : image.entries) {
      one["entries"].push_back({{"name", entry->name}, {"offset", entry->offset}});
    }
    json["images"].push_back(std::move(one));
    files.push_back({file, "the code of " + name, image.bytes});
  }
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const wire::BufferT& buffer = *program.buffers[i];
    Json one{{"name", buffer.name},
             {"role", kRoles[static_cast<std::size_t>(buffer.role)]},
             {"bytes", buffer.bytes},
             {"alignment", alignment_of(buffer, program)}};
    if (has_contents(buffer)) {
      const std::string file = name + "_" + std::to_string(i) + ".bin";
      one["file"] = file;
      files.push_back({file, "contents of a buffer of " + name, buffer.fill->bytes});
    } else if (buffer.role != BufferRole::Scratch) {
      one["shape"] = shape_of(workload, buffer);
      if (buffer.fill) one["dtype"] = wire::EnumNameScalarType(buffer.fill->dtype);
    } else if (buffer.fill && buffer.fill->kind == wire::FillKind::Zero) {
      one["zero"] = true;
    }
    json["buffers"].push_back(std::move(one));
  }
  for (const auto& launch : program.launches) json["launches"].push_back(json_of(*launch, program));
  files.push_back({name + ".json", "how to launch " + name, bytes_of_text(json.dump(2) + "\n")});
  return files;
}

}  // namespace

Result<std::vector<KernelFile>> kernel_files(const wire::ProgramT& program,
                                             const space::Workload& workload,
                                             const space::Target& target, const std::string& name) {
  if (target.backend() == space::CpuTarget::kBackend) {
    return cpu_files(program, workload, target, name);
  }
  return described_files(program, workload, target, name);
}

}  // namespace fettle::network
