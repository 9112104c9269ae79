// Bounds on networks (check_network.h).
#include "schemas/network/check_network.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "schemas/fill/fill.h"
#include "schemas/network/file_layout.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/content_hash.h"
#include "schemas/wire/limits.h"

namespace fettle {
namespace {

constexpr std::size_t kRank = 16;

using BlobSizes = std::map<wire::Hash, std::uint64_t, HashLess>;

Error bad(std::string what) { return {ErrorCode::Malformed, std::move(what)}; }
Error large(std::string what) { return {ErrorCode::TooLarge, std::move(what)}; }

Result<void> check_tensor(const wire::ProgramT& program, const wire::NetworkTensorT& tensor,
                          wire::BufferRole role, const std::string& where) {
  if (tensor.name.empty()) return bad(where + " has no name");
  if (tensor.dtype > wire::ScalarType::MAX) return bad(where + " is of an unknown type");
  if (tensor.buffer >= program.buffers.size()) return bad(where + " names no buffer");
  const wire::BufferT& buffer = *program.buffers[tensor.buffer];
  if (buffer.role != role) {
    return bad(where + " is in a buffer with the role " + wire::EnumNameBufferRole(buffer.role));
  }
  if (tensor.shape.size() > kRank) return large(where + " has too many axes");
  std::uint64_t bytes = bytes_of(tensor.dtype);
  for (const std::int64_t extent : tensor.shape) {
    if (extent < 1) return bad(where + " has an axis of length " + std::to_string(extent));
    if (static_cast<std::uint64_t>(extent) > limits::kBufferBytes / bytes) {
      return large(where + " is too large");
    }
    bytes *= static_cast<std::uint64_t>(extent);
  }
  if (bytes != buffer.bytes) {
    return bad(where + " has " + std::to_string(bytes) + " bytes, its buffer has " +
               std::to_string(buffer.bytes));
  }
  return {};
}

// Every buffer of that role is one of the tensors.
Result<void> check_tensors(const wire::ProgramT& program,
                           const std::vector<std::unique_ptr<wire::NetworkTensorT>>& tensors,
                           wire::BufferRole role, const char* kind) {
  std::set<std::string> names;
  std::set<std::uint32_t> buffers;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string where = std::string(kind) + " " + std::to_string(i);
    if (!tensors[i]) return bad(where + " is absent");
    if (auto checked = check_tensor(program, *tensors[i], role, where); !checked) return checked;
    if (!names.insert(tensors[i]->name).second) {
      return bad(where + " has the name of another: " + tensors[i]->name);
    }
    if (!buffers.insert(tensors[i]->buffer).second) {
      return bad(where + " is in the buffer of another");
    }
  }
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i]->role == role && !buffers.count(static_cast<std::uint32_t>(i))) {
      return bad("buffer " + std::to_string(i) + " has the role " + wire::EnumNameBufferRole(role) +
                 " and is no " + kind);
    }
  }
  return {};
}

Result<void> check_layers(const wire::NetworkT& network) {
  std::uint64_t prepare = 0, run = 0;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const std::string where = "layer " + std::to_string(i);
    if (!network.layers[i]) return bad(where + " is absent");
    const wire::NetworkLayerT& layer = *network.layers[i];
    if (layer.title.empty()) return bad(where + " has no title");
    if (layer.origin > wire::ScheduleOrigin::MAX) return bad(where + " has an unknown origin");
    if (!(layer.operations >= 0) || !std::isfinite(layer.operations) || !(layer.expected_ns >= 0) ||
        !std::isfinite(layer.expected_ns)) {
      return bad(where + " has a figure that is negative or not finite");
    }
    prepare += layer.prepare_launches;
    run += layer.run_launches;
  }
  const auto& launches = network.program->launches;
  const auto running =
      static_cast<std::uint64_t>(std::count_if(launches.begin(), launches.end(), [](auto& launch) {
        return launch->phase == wire::Phase::Run;
      }));
  if (prepare != launches.size() - running || run != running) {
    return bad("the layers have " + std::to_string(prepare) + " prepare and " +
               std::to_string(run) + " run launches, the program has " +
               std::to_string(launches.size() - running) + " and " + std::to_string(running));
  }
  return {};
}

Result<BlobSizes> check_places(const wire::NetworkT& network, std::uint64_t description_end,
                               std::uint64_t file_bytes) {
  BlobSizes sizes;
  std::uint64_t after = description_end;
  for (std::size_t i = 0; i < network.blobs.size(); ++i) {
    const std::string where = "blob " + std::to_string(i);
    if (!network.blobs[i] || !network.blobs[i]->hash) return bad(where + " is absent");
    const wire::BlobPlaceT& place = *network.blobs[i];
    if (place.bytes == 0) return bad(where + " is empty");
    if (place.bytes > limits::kBlobBytes) return large(where + " is too large");
    if (place.offset % file_layout::kBlobAlignment != 0) {
      return bad(where + " is not aligned to " + std::to_string(file_layout::kBlobAlignment));
    }
    if (place.offset < after) return bad(where + " lies over what is before it");
    if (place.offset > file_bytes || place.bytes > file_bytes - place.offset) {
      return bad(where + " does not end within the file");
    }
    after = place.offset + place.bytes;
    if (!sizes.emplace(*place.hash, place.bytes).second) {
      return bad(where + " has the hash of another");
    }
  }
  return sizes;
}

Result<void> check_named_blobs(const wire::ProgramT& program, const BlobSizes& sizes) {
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const auto& fill = program.buffers[i]->fill;
    if (!fill || fill->kind != wire::FillKind::Blob || !fill->bytes.empty()) continue;
    const std::string where = "buffer " + std::to_string(i);
    const auto found = sizes.find(*fill->blob);
    if (found == sizes.end()) return bad(where + " names a blob that is not in the file");
    if (found->second != program.buffers[i]->bytes) {
      return bad(where + " has " + std::to_string(program.buffers[i]->bytes) +
                 " bytes, its blob has " + std::to_string(found->second));
    }
  }
  for (std::size_t i = 0; i < program.images.size(); ++i) {
    const wire::ImageT& image = *program.images[i];
    if (!image.bytes.empty()) continue;
    const std::string where = "image " + std::to_string(i);
    const auto found = sizes.find(*image.blob);
    if (found == sizes.end()) return bad(where + " names a blob that is not in the file");
    if (found->second > limits::kImageBytes) return large(where + " is too large");
    if (image.cpu && found->second > image.cpu->memory_bytes) {
      return bad(where + " has more bytes than memory");
    }
    for (const auto& entry : image.entries) {
      if (image.cpu && entry->offset >= found->second) {
        return bad(where + ": entry '" + entry->name + "' lies outside its text");
      }
    }
  }
  return {};
}

}  // namespace

Result<void> check_network(const wire::NetworkT& network, std::uint64_t description_end,
                           std::uint64_t file_bytes) {
  if (!network.program) return bad("a network without a program");
  const wire::ProgramT& program = *network.program;
  if (auto checked = check_program(program); !checked) return checked;
  if (network.target.empty()) return bad("a network without a target");
  for (const auto& [tensors, role, kind] :
       {std::tuple(&network.inputs, wire::BufferRole::Input, "input"),
        std::tuple(&network.outputs, wire::BufferRole::Output, "output")}) {
    if (auto checked = check_tensors(program, *tensors, role, kind); !checked) return checked;
  }
  if (auto checked = check_layers(network); !checked) return checked;
  if (network.arena_bytes > limits::kBufferBytes || network.live_bytes > limits::kBufferBytes) {
    return large("the plan's memory");
  }
  auto sizes = check_places(network, description_end, file_bytes);
  if (!sizes) return std::move(sizes).error();
  return check_named_blobs(program, *sizes);
}

}  // namespace fettle
