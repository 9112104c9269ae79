// Access to files by Landlock (file_access.h).
#pragma once

#include <string>

#include "agent/sandbox/file_access.h"

namespace fettle::agent {

// "" or why it is not in force.
std::string confine_by_landlock(const FileAccess& access);

}  // namespace fettle::agent
