// Networks as C libraries (c_library.h).
#include "host/network/c_library.h"

#include <algorithm>

#include "host/network/c_header.h"
#include "host/network/program_library.h"
#include "host/space/cpu_target.h"

namespace fettle::network {

Result<void> check_exportable(const space::Target& target) {
  if (target.backend() == space::CpuTarget::kBackend) return {};
  return Error{ErrorCode::Unsupported,
               "a C library holds a CPU's code; this network is for " + target.backend()};
}

Result<CLibrary> c_library(const wire::NetworkT& network, const BlobLookup& blobs,
                           const std::string& name) {
  auto target = space::Target::parse(network.target);
  if (!target) return std::move(target).error();
  if (auto ok = check_exportable(*target); !ok) return std::move(ok).error();
  LibraryParameters parameters;
  for (const auto* list : {&network.inputs, &network.outputs}) {
    for (const auto& tensor : *list) {
      parameters.run.push_back(tensor->buffer);
      parameters.alignment =
          std::max(parameters.alignment, network.program->buffers[tensor->buffer]->alignment);
    }
  }
  auto parts = program_library(*network.program, blobs, name, parameters);
  if (!parts) return std::move(parts).error();
  auto archive = backend::write_static_library(parts->library, *target);
  if (!archive) return std::move(archive).error();
  CLibrary out;
  out.header = c_header(network, parts->library, parameters.alignment);
  out.archive = std::move(*archive);
  out.workspace_bytes = parts->library.workspace_bytes;
  out.constant_bytes = parts->constant_bytes;
  return out;
}

}  // namespace fettle::network
