// Looking at the machine before a network is loaded (machine_check.h).
#include "runtime/network/machine_check.h"

#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <optional>
#include <sstream>
#include <string>

#include "agent/platform/cpu_facts.h"
#include "agent/platform/cpu_features.h"
#include "schemas/wire/native_arch.h"

namespace fettle::runtime {
namespace {

// What runs images of a kind; of others nothing is known here.
struct Runs {
  wire::ImageKind image;
  wire::DeviceKind device;
  const char* words;
};
constexpr Runs kRuns[] = {
    {wire::ImageKind::CpuImage, wire::DeviceKind::Cpu, "a CPU"},
    {wire::ImageKind::OpenClSource, wire::DeviceKind::OpenCl, "OpenCL"},
    {wire::ImageKind::Ptx, wire::DeviceKind::Cuda, "CUDA"},
    {wire::ImageKind::Cubin, wire::DeviceKind::Cuda, "CUDA"},
    {wire::ImageKind::VtaStream, wire::DeviceKind::Vta, "the accelerator VTA"},
    {wire::ImageKind::VtaStream, wire::DeviceKind::Xrt, "the accelerator VTA"},
};

// The number behind `name` in a text of lines; in kB as /proc writes it.
std::optional<std::uint64_t> number_behind(const std::string& text, const std::string& name) {
  const std::size_t at = text.find(name);
  if (at == std::string::npos) return std::nullopt;
  return std::strtoull(text.c_str() + at + name.size(), nullptr, 10);
}

// The files of one version's control groups, all in bytes.
struct GroupFiles {
  const char *most, *now, *files;
};
constexpr GroupFiles kVersion2 = {"memory.max", "memory.current", "inactive_file "};
constexpr GroupFiles kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                  "total_inactive_file "};

// What one group leaves; nothing: it has no bound, or is not seen from here.
std::optional<std::uint64_t> group_bytes(const agent::SystemRoot& system, const std::string& folder,
                                         const GroupFiles& names) {
  const auto most = system.number(folder + names.most), now = system.number(folder + names.now);
  if (!most || !now) return std::nullopt;
  // Pages of files are given back when there is need.
  const auto files =
      number_behind(system.text(folder + "memory.stat").value_or(""), names.files).value_or(0);
  // Counters of cores come together late: not more than there is. Version 1 calls all of 63 bits
  // unbounded.
  const std::int64_t given =
      std::min(static_cast<std::int64_t>(std::min<std::uint64_t>(files, INT64_MAX)), *now);
  const std::int64_t left = *most - (*now - given);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(left, 0));
}

// The least that the group and those around it leave. In a container the path may be the host's:
// what is seen there of its own group is the root.
std::optional<std::uint64_t> groups_bytes(const agent::SystemRoot& system, const std::string& mount,
                                          std::string path, const GroupFiles& names) {
  std::optional<std::uint64_t> least;
  while (true) {
    while (path.ends_with('/')) path.pop_back();
    if (const auto left = group_bytes(system, mount + path + "/", names)) {
      least = std::min(least.value_or(*left), *left);
    }
    if (path.empty()) return least;
    path.resize(path.rfind('/') + 1);
  }
}

// Lines of /proc/self/cgroup: "0::/path" of version 2, "9:cpu,memory:/path" of version 1.
std::optional<std::uint64_t> control_group_bytes(const agent::SystemRoot& system) {
  std::istringstream groups(system.text("/proc/self/cgroup").value_or(""));
  std::optional<std::uint64_t> least;
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string kinds = "," + line.substr(first + 1, second - first - 1) + ",";
    std::optional<std::uint64_t> left;
    if (kinds == ",,") {
      left = groups_bytes(system, "/sys/fs/cgroup", line.substr(second + 1), kVersion2);
    } else if (kinds.find(",memory,") != std::string::npos) {
      left = groups_bytes(system, "/sys/fs/cgroup/memory", line.substr(second + 1), kVersion1);
    }
    if (left) least = std::min(least.value_or(*left), *left);
  }
  return least;
}

std::optional<std::uint64_t> address_space_bytes(const agent::SystemRoot& system) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const auto pages = number_behind(system.text("/proc/self/statm").value_or("0"), "").value_or(0);
  const std::uint64_t used = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

std::string mib(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

}  // namespace

Result<void> check_kinds(const wire::NetworkT& network, std::span<const wire::DeviceKind> devices,
                         const std::string& but) {
  for (const auto& image : network.program->images) {
    const char* wanted = nullptr;  // by what runs it and is not there
    bool runs = false;
    for (const Runs& row : kRuns) {
      if (row.image != image->kind) continue;
      wanted = row.words;
      runs |= std::find(devices.begin(), devices.end(), row.device) != devices.end();
    }
    if (wanted && !runs) {
      return Error{ErrorCode::Unsupported,
                   std::string("the network is built for ") + wanted + ", " + but};
    }
  }
  return {};
}

Result<void> check_cpu(const wire::NetworkT& network, const wire::CpuFactsT& facts) {
  for (const auto& image : network.program->images) {
    if (image->cpu && image->cpu->arch != facts.arch) {
      return Error{ErrorCode::Unsupported, "the network is built for " + image->cpu->arch +
                                               ", this machine is " + facts.arch};
    }
  }
  // What another architecture's processor does not list cannot be told from here: its agent knows.
  if (facts.arch != native_arch()) return {};
  std::string missing;
  for (const std::string& feature : network.cpu_features) {
    if (!agent::has_feature(facts, feature).value_or(true)) missing += " " + feature;
  }
  if (missing.empty()) return {};
  return Error{ErrorCode::Unsupported,
               "the network is built for a CPU with" + missing + ", which this one (" +
                   (facts.cpu.empty() ? facts.arch : facts.cpu) + ") lacks"};
}

std::uint64_t free_memory_bytes(const agent::SystemRoot& system) {
  std::uint64_t free = agent::physical_memory_bytes();
  if (const auto kilobytes =
          number_behind(system.text("/proc/meminfo").value_or(""), "MemAvailable:")) {
    free = *kilobytes * 1024;
  }
  if (const auto bytes = control_group_bytes(system)) free = std::min(free, *bytes);
  if (const auto bytes = address_space_bytes(system)) free = std::min(free, *bytes);
  return free;
}

Result<void> check_memory(std::uint64_t needed_bytes, std::uint64_t free_bytes) {
  if (needed_bytes <= free_bytes) return {};
  return Error{ErrorCode::OutOfMemory, "the network needs " + mib(needed_bytes) + " of memory, " +
                                           mib(free_bytes) + " can be had here"};
}

}  // namespace fettle::runtime
