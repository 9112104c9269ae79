// The worker programs that this agent carries.
#pragma once

#include "schemas/wire/codec.h"

namespace fettle::agent {

ByteView embedded_worker_gpu();  // fettle-worker-gpu; empty: built without it

}  // namespace fettle::agent
