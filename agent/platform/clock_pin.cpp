// Clock domains, their bounds and the guard (clock_pin.h).
#include "agent/platform/clock_pin.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "agent/platform/board_sysfs.h"

namespace fettle::agent {
namespace {

// Files of one clock's bounds, and what they held.
struct ClockDomain {
  std::string name, least_file, most_file;
  std::string least, most;  // as found
  std::string highest;      // that the hardware offers
};

// The kernel refuses a lower bound above the upper one, whichever is written first.
bool set_bounds(const SystemRoot& root, const ClockDomain& domain, const std::string& least,
                const std::string& most) {
  root.write(domain.most_file, most);
  const bool low = root.write(domain.least_file, least);
  return root.write(domain.most_file, most) && low;
}

std::vector<ClockDomain> cpu_domains(const SystemRoot& root,
                                     const std::vector<std::uint32_t>& cores) {
  std::vector<ClockDomain> domains;
  std::vector<std::string> seen;
  for (std::uint32_t core : cores) {
    const std::string at = "/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/";
    const auto highest = root.text(at + "cpuinfo_max_freq");
    if (!highest) continue;
    const std::string related = root.text(at + "related_cpus").value_or(std::to_string(core));
    if (std::find(seen.begin(), seen.end(), related) != seen.end()) continue;
    seen.push_back(related);
    domains.push_back({"the clock of core " + std::to_string(core), at + "scaling_min_freq",
                       at + "scaling_max_freq", root.text(at + "scaling_min_freq").value_or(""),
                       root.text(at + "scaling_max_freq").value_or(""), *highest});
  }
  return domains;
}

void add_gpu_domain(const SystemRoot& root, std::vector<ClockDomain>& domains) {
  const std::string gpu = gpu_devfreq(root);
  if (gpu.empty()) return;
  const std::string at = "/sys/class/devfreq/" + gpu + "/";
  const std::string most = root.text(at + "max_freq").value_or("");
  domains.push_back({"the GPU's clock", at + "min_freq", at + "max_freq",
                     root.text(at + "min_freq").value_or(""), most, most});
}

[[noreturn]] void guard_main(int alive, const SystemRoot& root,
                             const std::vector<ClockDomain>& domains) {
  // Ctrl-C and a service's stop are for the agent: this one goes after it.
  setsid();
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  char nothing;
  ssize_t n;
  do n = read(alive, &nothing, 1);
  while (n > 0 || (n < 0 && errno == EINTR));
  for (const ClockDomain& domain : domains) set_bounds(root, domain, domain.least, domain.most);
  _exit(0);
}

}  // namespace

Result<PinnedClocks> PinnedClocks::pin(const SystemRoot& root,
                                       const std::vector<std::uint32_t>& cores, std::uint32_t khz,
                                       std::vector<std::string>& refused) {
  std::vector<ClockDomain> domains = cpu_domains(root, cores);
  if (domains.empty()) refused.push_back("the cores' clocks cannot be set here (no cpufreq)");
  if (khz == kHighestClock) add_gpu_domain(root, domains);
  PinnedClocks out;
  if (domains.empty()) return out;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return Error{ErrorCode::Io, std::string("a pipe: ") + std::strerror(errno)};
  }
  // The guard is there before the first clock changes.
  out.guard_ = fork();
  if (out.guard_ == 0) {
    close(ends[1]);
    guard_main(ends[0], root, domains);
  }
  close(ends[0]);
  if (out.guard_ < 0) {
    close(ends[1]);
    return Error{ErrorCode::Io, std::string("fork: ") + std::strerror(errno)};
  }
  out.alive_ = ends[1];
  for (const ClockDomain& domain : domains) {
    const std::string wanted = khz == kHighestClock ? domain.highest : std::to_string(khz);
    if (!set_bounds(root, domain, wanted, wanted)) {
      refused.push_back(domain.name + " cannot be set to " + wanted + ": " + domain.least_file +
                        ": " + std::strerror(errno));
    }
  }
  return out;
}

PinnedClocks::PinnedClocks(PinnedClocks&& other) noexcept
    : alive_(std::exchange(other.alive_, -1)), guard_(std::exchange(other.guard_, -1)) {}

PinnedClocks& PinnedClocks::operator=(PinnedClocks&& other) noexcept {
  std::swap(alive_, other.alive_);
  std::swap(guard_, other.guard_);
  return *this;
}

PinnedClocks::~PinnedClocks() {
  if (alive_ < 0) return;
  close(alive_);
  while (waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace fettle::agent
