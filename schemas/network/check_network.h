// Our own bounds on a network's description, beyond those of its program.
#pragma once

#include <cstdint>

#include "schemas/network_generated.h"
#include "schemas/wire/result.h"

namespace fettle {

// Whether every index, size and place is in range, for a file of so many bytes whose description
// ends at `description_end`. Malformed, TooLarge, or what check_program() says, with the field.
Result<void> check_network(const wire::NetworkT& network, std::uint64_t description_end,
                           std::uint64_t file_bytes);

}  // namespace fettle
