// Looking at the machine before a network is loaded (machine_check.h).
#include "runtime/network/machine_check.h"

#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>

#include "agent/platform/cpu_facts.h"
#include "agent/platform/cpu_features.h"
#include "agent/platform/system_root.h"
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

// This process' group under control groups of version 2; none: the root's, or version 1.
std::optional<std::uint64_t> control_group_bytes(const agent::SystemRoot& system) {
  const std::string groups = system.text("/proc/self/cgroup").value_or("");
  const std::size_t at = groups.find("0::");
  if (at == std::string::npos) return std::nullopt;
  const std::string path = groups.substr(at + 3, groups.find('\n', at) - at - 3);
  const std::string folder = "/sys/fs/cgroup" + path + "/memory.";
  const auto most = system.number(folder + "max"), now = system.number(folder + "current");
  if (!most || !now) return std::nullopt;
  // Pages of files are given back when there is need.
  const auto files =
      number_behind(system.text(folder + "stat").value_or(""), "inactive_file ").value_or(0);
  const std::int64_t left = *most - *now + static_cast<std::int64_t>(files);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(left, 0));
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

std::uint64_t free_memory_bytes() {
  const agent::SystemRoot system;
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
