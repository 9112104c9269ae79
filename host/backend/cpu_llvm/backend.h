// The CPU back end behind the Backend interface.
#pragma once

#include "host/backend/backend.h"

namespace fettle::backend::cpu_llvm {

const Backend& cpu_backend();  // stateless; safe from several threads

}  // namespace fettle::backend::cpu_llvm
