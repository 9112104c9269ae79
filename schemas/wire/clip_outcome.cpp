// Bounds of outcomes (clip_outcome.h).
#include "schemas/wire/clip_outcome.h"

#include "schemas/wire/limits.h"

namespace fettle {

void clip_texts(wire::OutcomeT& outcome) {
  clip(outcome.board_id, limits::kKeyBytes);
  if (auto* failure = outcome.body.AsFailure()) {
    *failure->error = to_wire(clipped(from_wire(*failure->error)));
  } else if (auto* measured = outcome.body.AsMeasurement()) {
    for (auto* readings :
         {&measured->before, &measured->after, &measured->lowest, &measured->highest}) {
      if (!*readings) continue;
      clip((*readings)->governor, limits::kTextBytes);
      clip((*readings)->power_mode, limits::kTextBytes);
    }
  }
}

Result<Bytes> encode_to_send(const wire::OutcomeT& outcome, std::size_t most) {
  Bytes encoded = encode(outcome);
  if (encoded.size() <= most) return encoded;
  return Error{ErrorCode::TooLarge,
               "an outcome of " + std::to_string(encoded.size()) + " bytes, at most " +
                   std::to_string(most) +
                   ": ask for fewer samples, or for fewer bytes of the output"};
}

}  // namespace fettle
