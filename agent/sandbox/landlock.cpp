// Rules allow what lies beneath a path, so everything beside the hidden paths gets one to be read
// (landlock.h). Numbers as in Linux' uapi header, which older systems lack.
#include "agent/sandbox/landlock.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "agent/platform/owned_fd.h"
#include "agent/sandbox/device_nodes.h"

namespace fettle::agent {
namespace {

constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1;
constexpr int kPathBeneath = 1;
constexpr std::uint64_t kScopeSignals = 2;
constexpr int kMostRules = 20'000;

struct RulesetAttributes {
  std::uint64_t files, network, scoped;
};
struct [[gnu::packed]] PathBeneath {
  std::uint64_t allowed;
  std::int32_t parent_fd;
};

constexpr std::uint64_t bit(int number) { return std::uint64_t{1} << number; }
constexpr std::uint64_t kExecute = bit(0), kWrite = bit(1), kRead = bit(2), kReadFolder = bit(3),
                        kMakeCharacter = bit(6), kMakeBlock = bit(11), kIoctl = bit(15);
constexpr std::uint64_t kOfFiles = kExecute | kRead;

std::uint64_t all_rights(long version) {
  return version >= 5   ? bit(16) - 1
         : version >= 3 ? bit(15) - 1
         : version >= 2 ? bit(14) - 1
                        : bit(13) - 1;
}

// Without links. Of what is not there yet, the folder that is, and the names behind it: the folder
// gets no rule of its own then, so that what is made in it later is not reached. "": not absolute.
std::string real_path(const std::string& path) {
  if (char* real = realpath(path.c_str(), nullptr); real != nullptr) {
    std::string found(real);
    std::free(real);
    return found;
  }
  const std::size_t name = path.rfind('/');
  if (name == std::string::npos) return "";
  const std::string folder = real_path(name == 0 ? "/" : path.substr(0, name));
  return folder.empty() ? "" : (folder == "/" ? "" : folder) + path.substr(name);
}

class Rules {
 public:
  Rules(const FileAccess& access, long version) : handled_(all_rights(version)) {
    for (const std::string& path : access.hidden) {
      if (std::string real = real_path(path); !real.empty()) hidden_.push_back(std::move(real));
    }
    RulesetAttributes attributes{handled_, version >= 4 ? 3u : 0u,
                                 version >= 6 ? kScopeSignals : 0u};
    const std::size_t size = version >= 6   ? sizeof attributes
                             : version >= 4 ? 2 * sizeof(std::uint64_t)
                                            : sizeof(std::uint64_t);
    set_ = OwnedFd(static_cast<int>(syscall(kCreateRuleset, &attributes, size, 0)));
  }

  bool made() const { return static_cast<bool>(set_); }
  int set() const { return set_.get(); }
  const std::string& problem() const { return problem_; }

  // To be read: everything but what is hidden. Rights to make, rename or remove are nobody's.
  void allow_reading() { read_inside("/"); }

  // What /proc has of this process: the names of threads, which CUDA must be able to give.
  void allow_own_process() { add("/proc/" + std::to_string(getpid()), kWrite); }

  void allow_own_folder(const std::string& folder) {
    add(folder, handled_ & ~(kMakeCharacter | kMakeBlock));
  }

 private:
  // What cannot be listed here is not allowed. `folder` ends with "/".
  template <typename Each>
  static void for_each_in(const std::string& folder, Each each) {
    DIR* list = opendir(folder.c_str());
    if (list == nullptr) return;
    while (const dirent* entry = readdir(list)) {
      const std::string name = entry->d_name;
      struct stat facts{};
      if (name == "." || name == ".." || lstat((folder + name).c_str(), &facts) != 0) continue;
      if (!S_ISLNK(facts.st_mode)) each(name, facts.st_mode);
    }
    closedir(list);
  }

  void read_inside(const std::string& folder) {
    for_each_in(folder, [&](const std::string& name, mode_t mode) {
      const std::string path = folder + name;
      if (is_hidden(path)) return;
      if (path == "/dev") return devices_inside("/dev/");
      if (is_around_hidden(path)) return read_inside(path + "/");
      add(path, S_ISDIR(mode) ? kOfFiles | kReadFolder : kOfFiles);
    });
  }

  void devices_inside(const std::string& folder) {
    if (!is_around_hidden(folder.substr(0, folder.size() - 1))) add(folder, kReadFolder);
    for_each_in(folder, [&](const std::string& name, mode_t mode) {
      const std::string path = folder + name;
      const bool top = folder == "/dev/";
      if (is_hidden(path) || (top ? for_no_driver(name, mode) : S_ISBLK(mode))) return;
      if (S_ISDIR(mode) && top && holds_files(name)) {
        is_around_hidden(path) ? read_inside(path + "/") : add(path, kOfFiles | kReadFolder);
      } else if (S_ISDIR(mode)) {
        devices_inside(path + "/");
      } else {
        add(path, S_ISCHR(mode) ? kRead | kWrite | (kIoctl & handled_) : kOfFiles);
      }
    });
  }

  bool is_hidden(const std::string& path) const {
    return std::find(hidden_.begin(), hidden_.end(), path) != hidden_.end();
  }
  bool is_around_hidden(const std::string& path) const {
    return std::any_of(hidden_.begin(), hidden_.end(), [&](const std::string& one) {
      return one.compare(0, path.size() + 1, path + "/") == 0;
    });
  }

  void add(const std::string& path, std::uint64_t rights) {
    const OwnedFd at(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!at) return;
    const PathBeneath rule{rights, at.get()};
    if (++count_ > kMostRules) {
      problem_ = "too many files beside it";
    } else if (syscall(kAddRule, set_.get(), kPathBeneath, &rule, 0) != 0 && problem_.empty()) {
      problem_ = path + ": " + std::strerror(errno);
    }
  }

  std::vector<std::string> hidden_;
  std::uint64_t handled_;
  OwnedFd set_;
  int count_ = 0;
  std::string problem_;
};

}  // namespace

std::string confine_by_landlock(const FileAccess& access) {
  const long version = syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  if (version < 1) return std::string("Landlock: ") + std::strerror(errno);
  Rules rules(access, version);
  if (!rules.made()) return std::string("Landlock: ") + std::strerror(errno);
  rules.allow_reading();
  rules.allow_own_process();
  if (!access.own_folder.empty()) rules.allow_own_folder(access.own_folder);
  if (!rules.problem().empty()) return "Landlock: " + rules.problem();
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(kRestrictSelf, rules.set(), 0) != 0) {
    return std::string("Landlock: ") + std::strerror(errno);
  }
  return "";
}

}  // namespace fettle::agent
