// Bounds what unpacking a verified buffer may allocate. The verifier allows any
// number of references to one table, string or vector, so that a message of a few
// MiB could unpack into terabytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schemas/protocol_generated.h"

namespace fettle {

// Whether everything reachable from the verified table, counted as often as it is
// referred to, fits into `bytes`. Our encoders never share, so that a well-meant
// buffer always fits into its own size.
bool unpacks_within(const flatbuffers::Table* table, const flatbuffers::TypeTable* type,
                    std::size_t bytes);

}  // namespace fettle
