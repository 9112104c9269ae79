// Landlock: all of the file system but what is hidden (hidden_files.h).
#pragma once

#include <string>

#include "agent/sandbox/hidden_files.h"

namespace fettle::agent {

// "" or why it is not in force.
std::string hide_by_landlock(const HiddenFiles& hidden);

}  // namespace fettle::agent
