// Access to files by mounts in a namespace of its own (file_access.h).
#pragma once

#include <string>

#include "agent/sandbox/file_access.h"

namespace fettle::agent {

// "" or why it does not hold. What could be done is done all the same.
std::string confine_by_mounts(const FileAccess& access);

}  // namespace fettle::agent
