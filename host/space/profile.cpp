// Reading the embedded target profiles (profile.h).
#include "host/space/profile.h"

#include <algorithm>
#include <cassert>

#include <toml++/toml.h>

namespace fettle::space {

namespace {

const char* const kTexts[] = {
#include "host/space/profiles.inc"
};

// The files are ours and the unit test reads every one: a bad one is a bug.
Profile read(const char* text) {
  const toml::table t = toml::parse(text);
  Profile p;
  p.name = t["name"].value_or(std::string());
  const auto list = [](const toml::node_view<const toml::node>& node) {
    std::vector<std::string> out;
    if (const toml::array* array = node.as_array()) {
      for (const auto& v : *array) out.push_back(v.value_or(std::string()));
    }
    return out;
  };
  p.device_keys = list(t["device_keys"]);
  p.target.triple = t["triple"].value_or(std::string());
  p.target.arch = p.target.triple.substr(0, p.target.triple.find('-'));
  p.target.cpu = t["cpu"].value_or(std::string());
  p.target.features = list(t["features"]);
  p.target.vector_bits = t["vector_bits"].value_or(0);
  p.target.vector_registers = t["vector_registers"].value_or(0);
  p.target.fma = t["fma"].value_or(false);
  p.target.memory_bytes = t["memory_bytes"].value_or(std::int64_t{0});
  if (const toml::array* caches = t["caches"].as_array()) {
    for (const auto& node : *caches) {
      const toml::table& c = *node.as_table();
      if (c["kind"].value_or(std::string()) == "instruction") continue;
      p.target.caches.push_back({c["level"].value_or(0), c["bytes"].value_or(std::int64_t{0}),
                                 c["line_bytes"].value_or(0), c["shared_by"].value_or(1)});
    }
  }
  assert(!p.name.empty() && p.target.vector_bits > 0 && p.target.vector_registers > 0);
  return p;
}

}  // namespace

const std::vector<Profile>& profiles() {
  static const std::vector<Profile> all = [] {
    std::vector<Profile> out;
    for (const char* text : kTexts) out.push_back(read(text));
    return out;
  }();
  return all;
}

const Profile* find_profile(const std::string& device_key, const std::string& arch) {
  for (const Profile& p : profiles()) {
    const auto& keys = p.device_keys;
    if (p.target.arch == arch && std::find(keys.begin(), keys.end(), device_key) != keys.end()) {
      return &p;
    }
  }
  for (const Profile& p : profiles()) {
    if (p.name == "generic-" + arch) return &p;
  }
  return nullptr;
}

}  // namespace fettle::space
