// Found bounds in /run/fettle (clock_store.h).
#include "agent/platform/clock_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace fettle::agent {
namespace {

constexpr const char* kFolder = "/run/fettle";
const std::string kPrefix = "clock-";

bool lock_waiting(int fd, int how) {
  int status;
  do status = flock(fd, how);
  while (status != 0 && errno == EINTR);
  return status == 0;
}

// Made out of the id alone: paths in the file would be orders to whoever gives back.
ClockDomain domain_of_id(const std::string& id) {
  if (id.starts_with("gpu-")) return gpu_clock_domain(id.substr(4));
  const auto core = static_cast<std::uint32_t>(std::strtoul(id.c_str() + 3, nullptr, 10));
  return cpu_clock_domain(core, core);
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

ClockDomain cpu_clock_domain(std::uint32_t id, std::uint32_t core) {
  const std::string at = "/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/";
  return {"cpu" + std::to_string(id),
          "the clock of core " + std::to_string(core),
          at + "scaling_min_freq",
          at + "scaling_max_freq",
          "",
          "",
          ""};
}

ClockDomain gpu_clock_domain(const std::string& name) {
  const std::string at = "/sys/class/devfreq/" + name + "/";
  return {"gpu-" + name, "the GPU's clock", at + "min_freq", at + "max_freq", "", "", ""};
}

bool set_bounds(const SystemRoot& root, const ClockDomain& domain, const std::string& least,
                const std::string& most) {
  root.write(domain.most_file, most);
  const bool low = root.write(domain.least_file, least);
  return root.write(domain.most_file, most) && low;
}

ClockStore::ClockStore(const SystemRoot& root, bool make_folder) : root_(root) {
  const std::string folder = root.path(kFolder);
  if (make_folder) mkdir(folder.c_str(), 0700);  // a service has it from systemd
  folder_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0) problem_ = std::string(kFolder) + ": " + std::strerror(errno);
}

ClockStore::~ClockStore() {
  if (folder_ >= 0) close(folder_);
}

void ClockStore::lock() {
  if (folder_ >= 0) lock_waiting(folder_, LOCK_EX);
}

void ClockStore::unlock() {
  if (folder_ >= 0) flock(folder_, LOCK_UN);
}

bool ClockStore::read(int held, ClockDomain& domain) const {
  char text[128];
  const ssize_t n = pread(held, text, sizeof text - 1, 0);
  text[n > 0 ? n : 0] = 0;
  std::istringstream words(text);
  std::string least, most, pinned;
  if (!(words >> least >> most >> pinned)) return false;
  if (!is_number(least) || !is_number(most) || !is_number(pinned)) return false;
  domain.least = least;
  domain.most = most;
  domain.pinned = pinned;
  return true;
}

int ClockStore::claim(ClockDomain& domain, bool& shared) {
  shared = false;
  if (folder_ < 0) return -1;
  const int fd = openat(folder_, (kPrefix + domain.id).c_str(),
                        O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) {
    problem_ = std::string(kFolder) + "/" + kPrefix + domain.id + ": " + std::strerror(errno);
    return -1;
  }
  shared = flock(fd, LOCK_EX | LOCK_NB) != 0;
  flock(fd, LOCK_SH | LOCK_NB);  // never in vain: exclusive locks are held under lock() only
  read(fd, domain);
  return fd;
}

bool ClockStore::keep(int held, const ClockDomain& domain) {
  const std::string line = domain.least + " " + domain.most + " " + domain.pinned + "\n";
  return ftruncate(held, 0) == 0 &&
         pwrite(held, line.data(), line.size(), 0) == static_cast<ssize_t>(line.size());
}

bool ClockStore::give_back(const ClockDomain& domain, int held) {
  if (held < 0) return set_bounds(root_, domain, domain.least, domain.most);
  // What could not be given back stays for the next agent.
  const bool given =
      flock(held, LOCK_EX | LOCK_NB) == 0 && set_bounds(root_, domain, domain.least, domain.most);
  if (given) unlinkat(folder_, (kPrefix + domain.id).c_str(), 0);
  close(held);
  return given;
}

std::vector<std::string> ClockStore::give_back_abandoned() {
  std::vector<std::string> given;
  if (folder_ < 0) return given;
  for (const std::string& file : root_.list(kFolder)) {
    if (!file.starts_with(kPrefix)) continue;
    const int fd = openat(folder_, file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) continue;
    ClockDomain domain = domain_of_id(file.substr(kPrefix.size()));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      close(fd);  // somebody's
    } else if (read(fd, domain)) {
      if (give_back(domain, fd)) given.push_back(domain.name);
    } else {
      unlinkat(folder_, file.c_str(), 0);  // its maker died before it changed the clock
      close(fd);
    }
  }
  return given;
}

}  // namespace fettle::agent
