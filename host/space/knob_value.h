// One option of a knob.
#pragma once

#include <cstdint>
#include <vector>

namespace fettle::space {

// The factors of a split, outermost first, or one number for a plain choice.
using KnobValue = std::vector<std::int64_t>;

}  // namespace fettle::space
