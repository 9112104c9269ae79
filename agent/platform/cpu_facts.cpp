// CPU facts from sysfs, /proc/cpuinfo, cpuid and AT_HWCAP (cpu_facts.h).
#include "agent/platform/cpu_facts.h"

#include <sched.h>
#include <unistd.h>
#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "agent/platform/cpu_features.h"
#include "schemas/wire/native_arch.h"

namespace fettle::agent {
namespace {

std::string cpu_directory(std::uint32_t core) {
  return "/sys/devices/system/cpu/cpu" + std::to_string(core);
}

// "32K", "1M", "512" as sysfs writes cache sizes.
std::uint64_t parse_size(const std::string& text) {
  char* end = nullptr;
  std::uint64_t value = std::strtoull(text.c_str(), &end, 10);
  if (*end == 'K') value <<= 10;
  if (*end == 'M') value <<= 20;
  if (*end == 'G') value <<= 30;
  return value;
}

std::vector<std::unique_ptr<wire::CacheT>> read_caches(const SystemRoot& root, std::uint32_t core) {
  std::vector<std::unique_ptr<wire::CacheT>> caches;
  const std::string directory = cpu_directory(core) + "/cache";
  for (const std::string& name : root.list(directory)) {
    if (name.rfind("index", 0) != 0) continue;
    const std::string at = directory + "/" + name;
    auto cache = std::make_unique<wire::CacheT>();
    cache->level = static_cast<std::uint8_t>(root.number(at + "/level").value_or(0));
    cache->kind = root.text(at + "/type").value_or("");
    std::transform(cache->kind.begin(), cache->kind.end(), cache->kind.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    cache->bytes = parse_size(root.text(at + "/size").value_or("0"));
    cache->line_bytes =
        static_cast<std::uint32_t>(root.number(at + "/coherency_line_size").value_or(0));
    const auto shared = parse_core_list(root.text(at + "/shared_cpu_list").value_or(""));
    cache->shared_by = shared ? static_cast<std::uint32_t>(shared->size()) : 1;
    if (cache->level > 0 && cache->bytes > 0) caches.push_back(std::move(cache));
  }
  return caches;
}

// Value of "key : value" in the block of /proc/cpuinfo for that processor; Arm
// kernels and x86 ones both head a block with "processor".
std::string cpuinfo_value(const SystemRoot& root, std::uint32_t core, const std::string& key) {
  const std::string info = root.text("/proc/cpuinfo").value_or("");
  std::string any;
  long current = -1;
  for (std::size_t at = 0; at < info.size();) {
    std::size_t end = info.find('\n', at);
    if (end == std::string::npos) end = info.size();
    const std::string line = info.substr(at, end - at);
    at = end + 1;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string name = line.substr(0, colon);
    while (!name.empty() && std::isspace(static_cast<unsigned char>(name.back()))) name.pop_back();
    const std::size_t value_at = line.find_first_not_of(" \t", colon + 1);
    const std::string value = value_at == std::string::npos ? "" : line.substr(value_at);
    if (name == "processor") current = std::atol(value.c_str());
    if (name != key) continue;
    if (current == static_cast<long>(core)) return value;
    any = value;  // old Arm kernels print such lines once, for all
  }
  return any;
}

}  // namespace

std::uint64_t core_midr(const SystemRoot& root, std::uint32_t core) {
  const auto midr = root.text(cpu_directory(core) + "/regs/identification/midr_el1");
  if (midr) return std::strtoull(midr->c_str(), nullptr, 16);
  const std::string part = cpuinfo_value(root, core, "CPU part");
  const std::string implementer = cpuinfo_value(root, core, "CPU implementer");
  if (!part.empty() && !implementer.empty()) {
    return std::strtoull(implementer.c_str(), nullptr, 16) << 24 |
           std::strtoull(part.c_str(), nullptr, 16) << 4;
  }
  return 0;
}

bool same_core(std::uint64_t midr, std::uint64_t other) {
  constexpr std::uint64_t kImplementerAndPart = 0xff00fff0;
  return ((midr ^ other) & kImplementerAndPart) == 0;
}

std::string core_name(const SystemRoot& root, std::uint32_t core) {
  return arm_core_name(core_midr(root, core));
}

const char* agent_triple() {
#if defined(__x86_64__)
  return "x86_64-unknown-linux-gnu";
#elif defined(__aarch64__)
  return "aarch64-unknown-linux-gnu";
#else
  return "armv7-unknown-linux-gnueabihf";
#endif
}

wire::CpuFactsT read_cpu_facts(const SystemRoot& root, const std::vector<std::uint32_t>& cores,
                               const std::string& cpu) {
  wire::CpuFactsT facts;
  const std::uint32_t first = cores.empty() ? 0 : cores.front();
  facts.arch = native_arch();
  facts.triple = agent_triple();
  facts.cores = cores;
  facts.max_khz = static_cast<std::uint32_t>(
      root.number(cpu_directory(first) + "/cpufreq/cpuinfo_max_freq").value_or(0));
  facts.page_bytes = static_cast<std::uint32_t>(sysconf(_SC_PAGESIZE));
  facts.caches = read_caches(root, first);
  facts.cpu = cpu.empty() ? core_name(root, first) : cpu;
  read_native_features(facts);
  return facts;
}

std::string device_name(const SystemRoot& root, const wire::CpuFactsT& facts) {
  std::string name = facts.cpu;
  if (name.empty() || facts.arch == "x86_64") {
    const std::string model =
        cpuinfo_value(root, facts.cores.empty() ? 0 : facts.cores.front(), "model name");
    if (!model.empty()) name = model;
  }
  if (name.empty()) name = facts.arch;
  return name + " x" + std::to_string(facts.cores.size());
}

bool looks_emulated(const SystemRoot& root) {
#if defined(__x86_64__)
  (void)root;
  return false;
#else
  // Arm kernels never print "vendor_id"; an x86 host's /proc/cpuinfo seen through
  // qemu-user does.
  return root.text("/proc/cpuinfo").value_or("").find("vendor_id") != std::string::npos;
#endif
}

std::vector<std::uint32_t> usable_cores() {
  std::vector<std::uint32_t> cores;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (std::uint32_t core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) cores.push_back(core);
    }
  }
  if (cores.empty()) cores.push_back(0);
  return cores;
}

std::uint64_t physical_memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace fettle::agent
