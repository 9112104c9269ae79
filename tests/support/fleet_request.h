// A request that is right and says nothing: for brokers, which pass it on.
#pragma once

#include <cstddef>

#include "schemas/wire/codec.h"

namespace fettle::fleet {

// marker: told in its racing bound, for those that must know it again.
inline wire::MeasureRequestT small_request(double marker = 0, std::size_t image_bytes = 3) {
  wire::MeasureRequestT request;
  request.program = std::make_unique<wire::ProgramT>();
  request.options = std::make_unique<wire::MeasureOptionsT>();
  request.options->racing_bound_ns = marker;
  auto image = std::make_unique<wire::ImageT>();
  image->kind = wire::ImageKind::Xclbin;
  image->bytes = Bytes(image_bytes, 7);
  auto entry = std::make_unique<wire::EntryPointT>();
  entry->name = "run";
  image->entries.push_back(std::move(entry));
  request.program->images.push_back(std::move(image));
  auto buffer = std::make_unique<wire::BufferT>();
  buffer->bytes = 64;
  buffer->role = wire::BufferRole::Output;
  request.program->buffers.push_back(std::move(buffer));
  request.program->launches.push_back(std::make_unique<wire::LaunchT>());
  return request;
}

}  // namespace fettle::fleet
