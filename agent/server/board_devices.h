// Which devices a board has, by its profile: each kind of its cores, and what is beside them.
#pragma once

#include "agent/platform/board_profile.h"
#include "agent/server/options.h"

namespace fettle::agent {

// The board's devices where none was named; else the profiles of those that were. Devices that are
// made take what `defaults` says. InvalidArgument: a named one does not say which of two kinds of
// cores it has.
Result<void> recognise_devices(AgentOptions& options, const DeviceConfig& defaults,
                               const SystemRoot& root, const std::vector<BoardProfile>& profiles);

// Why no device was found, for the one who has to name it.
std::string board_words(const SystemRoot& root);

}  // namespace fettle::agent
