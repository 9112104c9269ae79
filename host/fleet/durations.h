// Times as people write and read them: "2h30m", "1 h 59 min".
#pragma once

#include <chrono>
#include <string>

#include "schemas/wire/result.h"

namespace fettle::fleet {

// Whole numbers with d, h, m or s behind each, from long to short: "90s", "2h", "1d12h".
// InvalidArgument: anything else, nothing at all, or over ten years.
Result<std::chrono::seconds> parse_duration(const std::string& text);

// The two largest units: "6 d 23 h", "1 h 59 min", "45 s".
std::string duration_text(std::chrono::seconds time);

}  // namespace fettle::fleet
