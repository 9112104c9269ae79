// The device keys of builders: "build:VERSION". Builders of one version make the same program of
// a request, so that it does not matter which of them did.
#pragma once

#include <string>

namespace fettle::fleet {

inline std::string build_key(const std::string& version) { return "build:" + version; }
inline std::string version_of(const std::string& key) { return key.substr(build_key("").size()); }
inline bool is_build_key(const std::string& key) { return key.starts_with("build:"); }

}  // namespace fettle::fleet
