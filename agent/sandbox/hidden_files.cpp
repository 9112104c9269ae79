// By Landlock, else by mounts (hidden_files.h).
#include "agent/sandbox/hidden_files.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

#include "agent/platform/owned_fd.h"
#include "agent/sandbox/landlock.h"

namespace fettle::agent {
namespace {

bool write_text(const char* path, const std::string& text) {
  const OwnedFd file(open(path, O_WRONLY | O_CLOEXEC));
  return file && write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Who has no right to mount gets it in a namespace of users, as whom it is.
bool enter_user_namespace() {
  const std::string user = std::to_string(geteuid()), group = std::to_string(getegid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  return write_text("/proc/self/setgroups", "deny") &&
         write_text("/proc/self/uid_map", user + " " + user + " 1") &&
         write_text("/proc/self/gid_map", group + " " + group + " 1");
}

// Those by which a process undoes a mount, reads around it or reaches into another process.
bool drop_capabilities() {
  for (const unsigned each : {CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYS_MODULE,
                              CAP_SYS_RAWIO, CAP_MKNOD, CAP_SYS_CHROOT, CAP_SYS_BOOT}) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2]{};
    if (syscall(__NR_capget, &header, data) != 0) return false;
    prctl(PR_CAPBSET_DROP, each, 0, 0, 0);
    const unsigned keep = ~(1u << (each % 32));
    data[each / 32].effective &= keep;
    data[each / 32].permitted &= keep;
    data[each / 32].inheritable &= keep;
    if (syscall(__NR_capset, &header, data) != 0) return false;
  }
  return true;
}

// An empty folder or file in the place of each.
bool cover(const std::string& path) {
  struct stat facts{};
  if (stat(path.c_str(), &facts) != 0) return errno == ENOENT;
  if (S_ISDIR(facts.st_mode)) {
    return mount("none", path.c_str(), "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "size=4k") == 0;
  }
  return mount("/dev/null", path.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

std::string hide_by_mounts(const HiddenFiles& hidden) {
  const bool root = geteuid() == 0;
  if (root && hidden.devices) return "root reads the disks themselves";
  if (root ? unshare(CLONE_NEWNS) != 0 : !enter_user_namespace()) {
    return std::string("no mount namespace: ") + std::strerror(errno);
  }
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return std::string("mount: ") + std::strerror(errno);
  }
  for (const std::string& path : hidden.paths) {
    if (!cover(path)) return "mount over " + path + ": " + std::strerror(errno);
  }
  if (!drop_capabilities()) return std::string("capset: ") + std::strerror(errno);
  return "";
}

}  // namespace

std::string hide_files(const HiddenFiles& hidden) {
  const std::string landlock = hide_by_landlock(hidden);
  if (landlock.empty()) return "";
  const std::string mounts = hide_by_mounts(hidden);
  return mounts.empty() ? "" : landlock + "; " + mounts;
}

}  // namespace fettle::agent
