// The checks before a disk is overwritten that a user may drop, each by its name.
#pragma once

#include <map>
#include <set>
#include <string>

namespace fettle::flash {

enum class Check { InUse, SystemDisk, FixedDisk, Partition, BootSignature };
using DroppedChecks = std::set<Check>;

// As --force and the refusals name them.
inline const std::map<std::string, Check>& check_names() {
  static const std::map<std::string, Check> names = {{"in-use", Check::InUse},
                                                     {"system-disk", Check::SystemDisk},
                                                     {"fixed-disk", Check::FixedDisk},
                                                     {"partition", Check::Partition},
                                                     {"boot-signature", Check::BootSignature}};
  return names;
}

}  // namespace fettle::flash
