// Bounds of what one message may list and say, looked at in the buffer itself: a message that
// is over them costs no memory.
#pragma once

#include "schemas/protocol_generated.h"
#include "schemas/wire/result.h"

namespace fettle {

// `message` was verified. Malformed: over a bound of limits.h, with the field's name.
// What only the broker says (lists of boards, outcomes) is bounded by the message's size.
Result<void> check_message(const wire::Message& message);

}  // namespace fettle
