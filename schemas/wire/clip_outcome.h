// An outcome comes from where a candidate ran: it is bounded before anyone keeps it or sends it.
#pragma once

#include "schemas/wire/codec.h"

namespace fettle {

// Cuts its texts to what an error may say (limits.h), with a mark where something is left out.
void clip_texts(wire::OutcomeT& outcome);

// Encoded. TooLarge: it takes more than `most` bytes, though it may be well
// formed: all that a measurement may list is more than one message takes, and a connection that is
// sent more is cut.
Result<Bytes> encode_to_send(const wire::OutcomeT& outcome, std::size_t most);

}  // namespace fettle
