// Rules allow what lies beneath a path, so everything beside the hidden paths gets one
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
constexpr std::uint64_t kExecute = bit(0), kWrite = bit(1), kRead = bit(2), kMakeCharacter = bit(6),
                        kMakeBlock = bit(11), kTruncate = bit(14), kIoctl = bit(15);
constexpr std::uint64_t kOfFiles = kExecute | kWrite | kRead | kTruncate | kIoctl;

std::uint64_t all_rights(long version) {
  return version >= 5   ? bit(16) - 1
         : version >= 3 ? bit(15) - 1
         : version >= 2 ? bit(14) - 1
                        : bit(13) - 1;
}

class Rules {
 public:
  Rules(const HiddenFiles& hidden, long version)
      : hides_devices_(hidden.devices), handled_(all_rights(version)) {
    for (const std::string& path : hidden.paths) {
      char* real = realpath(path.c_str(), nullptr);
      if (real == nullptr) continue;
      hidden_.emplace_back(real);
      std::free(real);
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

  // Everything in `folder` ("/" ends each name) but what is hidden.
  void allow_inside(const std::string& folder) {
    DIR* list = opendir(folder.c_str());
    if (list == nullptr) return;  // what cannot be listed here is not allowed
    while (const dirent* entry = readdir(list)) {
      const std::string name = entry->d_name, path = folder + name;
      if (name != "." && name != "..") allow(path, folder == "/dev/");
    }
    closedir(list);
  }

 private:
  void allow(const std::string& path, bool device) {
    if (std::find(hidden_.begin(), hidden_.end(), path) != hidden_.end()) return;
    struct stat facts{};
    if (lstat(path.c_str(), &facts) != 0 || S_ISLNK(facts.st_mode)) return;
    const bool around = std::any_of(hidden_.begin(), hidden_.end(), [&](const std::string& one) {
      return one.compare(0, path.size() + 1, path + "/") == 0;
    });
    if (around || (hides_devices_ && path == "/dev")) return allow_inside(path + "/");
    if (device && hides_devices_) {
      for (const char* memory : {"/dev/mem", "/dev/kmem", "/dev/port"}) {
        if (path == memory) return;
      }
      if (S_ISBLK(facts.st_mode)) return;
    }
    const OwnedFd at(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!at) return;
    std::uint64_t rights = handled_;
    if (!S_ISDIR(facts.st_mode)) rights &= kOfFiles;
    if (hides_devices_) rights &= ~(kMakeCharacter | kMakeBlock);
    const PathBeneath rule{rights, at.get()};
    if (++count_ > kMostRules) {
      problem_ = "too many files beside it";
    } else if (syscall(kAddRule, set_.get(), kPathBeneath, &rule, 0) != 0 && problem_.empty()) {
      problem_ = path + ": " + std::strerror(errno);
    }
  }

  std::vector<std::string> hidden_;
  bool hides_devices_;
  std::uint64_t handled_;
  OwnedFd set_;
  int count_ = 0;
  std::string problem_;
};

}  // namespace

std::string hide_by_landlock(const HiddenFiles& hidden) {
  const long version = syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  if (version < 1) return std::string("Landlock: ") + std::strerror(errno);
  Rules rules(hidden, version);
  if (!rules.made()) return std::string("Landlock: ") + std::strerror(errno);
  rules.allow_inside("/");
  if (!rules.problem().empty()) return "Landlock: " + rules.problem();
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(kRestrictSelf, rules.set(), 0) != 0) {
    return std::string("Landlock: ") + std::strerror(errno);
  }
  return "";
}

}  // namespace fettle::agent
