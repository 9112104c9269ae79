// What flatbuffers' verifier leaves unchecked before a buffer may be unpacked.
//  - It allows any number of references to one table, string or vector, so that a
//    message of a few MiB could unpack into terabytes.
//  - It checks where a vector begins but not that its elements are aligned, and
//    unpacking reads them in place: a trap on ARMv7.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schemas/protocol_generated.h"
#include "schemas/wire/result.h"

namespace fettle {

// Looks at everything reachable from a verified table whose buffer is aligned to 16
// bytes. TooLarge: counted as often as it is referred to, it does not fit into
// `bytes`; our encoders never share, so that a well-meant buffer always fits into
// its own size. Malformed: elements of a vector are not aligned.
Result<void> guard_unpacking(const flatbuffers::Table* table, const flatbuffers::TypeTable* type,
                             std::size_t bytes);

}  // namespace fettle
