// The host's row of the stack machine.
#pragma once

#include "host/backend/backend.h"

namespace fettle::extension {

const backend::Backend& stack_backend();

}  // namespace fettle::extension
