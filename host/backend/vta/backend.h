// The row of the VTA accelerator.
#pragma once

#include "host/backend/backend.h"

namespace fettle::vta::host {

const backend::Backend& vta_backend();

}  // namespace fettle::vta::host
