// All mounts become read-only, and empty ones lie over what is hidden (mount_access.h). A device's
// node can be written where its mount is read-only.
#include "agent/sandbox/mount_access.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "agent/platform/owned_fd.h"
#include "agent/sandbox/device_nodes.h"

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

std::vector<std::string> nodes_for_no_driver() {
  std::vector<std::string> out;
  DIR* list = opendir("/dev");
  if (list == nullptr) return out;
  while (const dirent* entry = readdir(list)) {
    const std::string path = std::string("/dev/") + entry->d_name;
    struct stat facts{};
    if (lstat(path.c_str(), &facts) != 0 || S_ISLNK(facts.st_mode)) continue;
    if (for_no_driver(entry->d_name, facts.st_mode)) out.push_back(path);
  }
  closedir(list);
  return out;
}

struct Mount {
  std::string path;
  unsigned long flags = 0;  // those that a namespace of users may not take away
};

// Where the kernel writes "\040" for a space.
std::string without_escapes(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 3 >= text.size()) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(std::strtoul(text.substr(i + 1, 3).c_str(), nullptr, 8));
    i += 3;
  }
  return out;
}

std::vector<Mount> all_mounts() {
  std::string text;
  const OwnedFd file(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  char piece[4096];
  for (ssize_t n; file && (n = read(file.get(), piece, sizeof piece)) > 0;) {
    text.append(piece, static_cast<std::size_t>(n));
  }
  std::vector<Mount> out;
  std::istringstream lines(text);
  for (std::string line, skipped, path, options; std::getline(lines, line);) {
    std::istringstream words(line);
    if (!(words >> skipped >> skipped >> skipped >> skipped >> path >> options)) continue;
    const auto has = [&](const char* option, unsigned long flag) {
      return ("," + options + ",").find("," + std::string(option) + ",") == std::string::npos
                 ? 0ul
                 : flag;
    };
    out.push_back({without_escapes(path),
                   has("nosuid", MS_NOSUID) | has("nodev", MS_NODEV) | has("noexec", MS_NOEXEC)});
  }
  return out;
}

// What lies under another mount cannot be made so, and is not reached; hence the second look.
std::string make_read_only(const std::vector<std::string>& but) {
  const std::vector<Mount> mounts = all_mounts();
  if (mounts.empty()) return "no list of mounts";
  for (const Mount& each : mounts) {
    if (std::find(but.begin(), but.end(), each.path) != but.end()) continue;
    mount(nullptr, each.path.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | each.flags,
          nullptr);
    struct statvfs facts{};
    if (statvfs(each.path.c_str(), &facts) == 0 && (facts.f_flag & ST_RDONLY) == 0) {
      return "files can be written in " + each.path;
    }
  }
  return "";
}

}  // namespace

std::string confine_by_mounts(const FileAccess& access) {
  const bool root = geteuid() == 0;
  if (root ? unshare(CLONE_NEWNS) != 0 : !enter_user_namespace()) {
    return std::string("no mount namespace: ") + std::strerror(errno);
  }
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return std::string("mount: ") + std::strerror(errno);
  }
  std::vector<std::string> covered = nodes_for_no_driver();
  covered.insert(covered.end(), access.hidden.begin(), access.hidden.end());
  for (const std::string& path : covered) {
    if (!cover(path)) return "mount over " + path + ": " + std::strerror(errno);
  }
  std::vector<std::string> writable = {"/proc/" + std::to_string(getpid())};
  if (!access.own_folder.empty()) writable.push_back(access.own_folder);
  for (const std::string& path : writable) {
    if (mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0) {
      return "mount of " + path + ": " + std::strerror(errno);
    }
  }
  const std::string open = make_read_only(writable);
  if (!drop_capabilities()) return std::string("capset: ") + std::strerror(errno);
  if (!open.empty()) return open;
  return root ? "root reaches the disks themselves" : "";
}

}  // namespace fettle::agent
