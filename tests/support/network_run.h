// Runs a compiled network in this process, in guarded memory whose scratch begins as NaNs.
#pragma once

#include <cstdint>
#include <vector>

#include "host/network/linker.h"

namespace fettle::testing {

using TensorBytesList = std::vector<std::vector<std::uint8_t>>;

// `inputs`: as the network lists them. Runs it twice, so that what a run leaves behind shows.
// Outputs as the network lists them; or what loading and running said, or a stray write did.
Result<TensorBytesList> run_network(const network::LinkedNetwork& linked,
                                    const TensorBytesList& inputs);

}  // namespace fettle::testing
