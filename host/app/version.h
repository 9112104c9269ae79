// The version of fettle's programs, as Hello and --version say it.
#pragma once

namespace fettle::app {
inline constexpr const char* kVersion = FETTLE_VERSION;
}
