// Reading the embedded target profiles (profile.h).
#include "host/space/profile.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <set>

// It tells of what its asserts are about as errors, too; a file must not end the program.
#define TOML_ASSERT(expression) static_cast<void>(0)
#include <toml++/toml.h>

namespace fettle::space {

namespace {

const char* const kTexts[] = {
#include "host/space/profiles.inc"
};

using Keys = std::set<std::string, std::less<>>;

void add_unread(const toml::table& table, const Keys& known, const std::string& where,
                std::vector<std::string>& unread) {
  for (const auto& [key, value] : table) {
    if (!known.contains(key.str())) unread.push_back(where + std::string(key.str()));
  }
}

// The files are ours and the unit test reads every one: a bad one is a bug.
Profile read(const char* text) {
  const toml::table table = toml::parse(text);
  // What the agent reads (agent/board_profiles.cmake); every key read here is added.
  Keys keys = {"device_tree", "midr", "sysfs"};
  const auto field = [&](const char* key) {
    keys.insert(key);
    return table[key];
  };
  Profile p;
  p.name = field("name").value_or(std::string());
  p.description = field("description").value_or(std::string());
  const auto list = [](const toml::node_view<const toml::node>& node) {
    std::vector<std::string> out;
    if (const toml::array* array = node.as_array()) {
      for (const auto& v : *array) out.push_back(v.value_or(std::string()));
    }
    return out;
  };
  p.device_keys = list(field("device_keys"));
  p.target.triple = field("triple").value_or(std::string());
  p.target.arch = p.target.triple.substr(0, p.target.triple.find('-'));
  p.target.cpu = field("cpu").value_or(std::string());
  p.target.features = list(field("features"));
  p.target.vector_bits = field("vector_bits").value_or(0);
  p.target.vector_registers = field("vector_registers").value_or(0);
  p.target.fma = field("fma").value_or(false);
  p.cores = field("cores").value_or(0);
  p.clock_mhz = field("clock_mhz").value_or(0.0);
  p.peak_gflops_per_core_f32 = field("peak_gflops_per_core_f32").value_or(0.0);
  p.memory_gbps = field("memory_gbps").value_or(0.0);
  p.accelerator = {field("accelerator")["kind"].value_or(std::string()),
                   field("accelerator")["key"].value_or(std::string()),
                   field("accelerator")["name"].value_or(std::string())};
  if (const toml::table* accelerator = field("accelerator").as_table()) {
    add_unread(*accelerator, {"kind", "key", "name"}, "accelerator.", p.unread);
  }
  p.target.memory_bytes = field("memory_bytes").value_or(std::int64_t{0});
  if (const toml::array* caches = field("caches").as_array()) {
    for (const auto& node : *caches) {
      const toml::table& c = *node.as_table();
      add_unread(c, {"level", "kind", "bytes", "line_bytes", "shared_by"}, "caches.", p.unread);
      if (c["kind"].value_or(std::string()) == "instruction") continue;
      p.target.caches.push_back({c["level"].value_or(0), c["bytes"].value_or(std::int64_t{0}),
                                 c["line_bytes"].value_or(0), c["shared_by"].value_or(1)});
    }
  }
  add_unread(table, keys, "", p.unread);
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

wire::DeviceInfoT device_of(const Profile& profile) {
  wire::DeviceInfoT device;
  device.kind = wire::DeviceKind::Cpu;
  device.key = profile.device_keys.empty() ? profile.name : profile.device_keys.front();
  device.profile = profile.name;
  device.memory_limit_bytes = static_cast<std::uint64_t>(profile.target.memory_bytes);
  device.cpu = std::make_unique<wire::CpuFactsT>();
  device.cpu->arch = profile.target.arch;
  device.cpu->triple = profile.target.triple;
  device.cpu->cpu = profile.target.cpu;
  for (int core = 0; core < profile.cores; ++core) {
    device.cpu->cores.push_back(static_cast<std::uint32_t>(core));
  }
  return device;
}

const Profile* profile_of(const wire::DeviceInfoT& device) {
  if (!device.cpu) return nullptr;
  for (const Profile& p : profiles()) {
    if (p.name == device.profile && p.target.arch == device.cpu->arch) return &p;
  }
  return find_profile(device.key, device.cpu->arch);
}

double Profile::peak_gflops(int threads, std::uint32_t khz) const {
  if (clock_mhz <= 0) return 0;
  const double clock = khz > 0 ? khz / 1000.0 / clock_mhz : 1.0;
  return peak_gflops_per_core_f32 * clock * threads;
}

}  // namespace fettle::space
