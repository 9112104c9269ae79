// An outcome's texts come from where a candidate ran: they are bounded before anyone keeps them.
#pragma once

#include "schemas/wire/codec.h"

namespace fettle {

// Cuts its texts to what an error may say (limits.h), with a mark where something is left out.
void clip_texts(wire::OutcomeT& outcome);

}  // namespace fettle
