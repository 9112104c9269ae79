// Lines for people on standard error.
#pragma once

#include <cstdint>

namespace fettle::agent {

enum class LogLevel : std::uint8_t { Error, Warning, Info, Debug };
void set_log_level(LogLevel most);
[[gnu::format(printf, 2, 3)]] void log(LogLevel level, const char* format, ...);

}  // namespace fettle::agent
