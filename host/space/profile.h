// Target profiles: what is known of a board before it says so itself. The files
// of toolchains/profiles, embedded when the program is built.
#pragma once

#include <string>
#include <vector>

#include "host/space/target.h"

namespace fettle::space {

struct Profile {
  std::string name;
  std::vector<std::string> device_keys;
  Target target;  // threads and backend are not a profile's matter
};

const std::vector<Profile>& profiles();

// The profile of a device key, if its architecture is `arch`; else the generic
// one of the architecture; null: an architecture that has none.
const Profile* find_profile(const std::string& device_key, const std::string& arch);

}  // namespace fettle::space
