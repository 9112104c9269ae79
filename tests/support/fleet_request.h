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

// What a board says of it, encoded: ten samples of about a millisecond.
inline Bytes small_outcome() {
  wire::MeasurementT measurement;
  measurement.median = 1e6;
  measurement.ticks_per_second = 1e9;
  measurement.number = 1;
  for (std::uint64_t i = 0; i < 10; ++i) measurement.samples.emplace_back(1'000'000 + i, 1u);
  wire::OutcomeT outcome;
  outcome.body.Set(std::move(measurement));
  outcome.times = std::make_unique<wire::StageTimesT>();
  return encode(outcome);
}

}  // namespace fettle::fleet
