// One well-filled sample of everything that travels, and the decoders by name: the
// ground that round trips, truncation, mutation and the fuzzers start from.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schemas/wire/codec.h"

namespace fettle {

wire::ProgramT sample_program();
wire::MeasureRequestT sample_request();
wire::OutcomeT sample_measurement();
wire::OutcomeT sample_failure();

struct Sample {
  std::string name;
  Bytes bytes;
};
std::vector<Sample> message_samples();  // one of every Body
std::vector<Sample> build_message_samples();

// Decodes, and encodes again what was decoded; an Error is an orderly refusal.
struct Decoder {
  std::string name;
  std::function<Result<Bytes>(ByteView)> decode_and_encode;
  std::vector<Sample> samples;
};
std::vector<Decoder> decoders();

}  // namespace fettle
