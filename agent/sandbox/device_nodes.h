// Nodes in /dev that are no driver's business.
#pragma once

#include <sys/types.h>

#include <string>

namespace fettle::agent {

// Of a node or folder right in /dev: a disk, the machine's memory, or what has its control. Whoever
// writes these needs no file to be changed by.
bool for_no_driver(const std::string& name, mode_t mode);

// Folders of files, which are in /dev by custom only.
bool holds_files(const std::string& name);

}  // namespace fettle::agent
