// A configuration of one space as a configuration of another: the same sketch, and of each knob the
// option that is nearest.
#pragma once

#include <optional>
#include <string>

#include "host/space/search_space.h"

namespace fettle::network {

// `configuration`: as SearchSpace::to_json wrote it, of whichever space. Nothing: this space has no
// such sketch, or what is nearest breaks a constraint.
std::optional<space::Configuration> adapted(const space::SearchSpace& space,
                                            const std::string& configuration);

}  // namespace fettle::network
