// A folder of a worker's own, for what a driver's compiler writes while it builds.
#pragma once

#include <string>

namespace fettle::agent {

// Makes one in the user's cache, else among temporary files, and removes those of workers that have
// ended. It is this process' as long as it lives. "" where none can be made.
std::string make_own_folder();

}  // namespace fettle::agent
