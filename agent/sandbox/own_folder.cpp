// Whose worker lives is held by a lock (own_folder.h). What lies in those of others was written by
// nobody that is trusted: links are not followed.
#include "agent/sandbox/own_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "agent/platform/owned_fd.h"

namespace fettle::agent {
namespace {

constexpr const char* kNew = "new-";  // not locked yet
constexpr const char* kOwn = "own-";
constexpr int kMostLevels = 64;
constexpr std::time_t kSecondsToLock = 600;

std::vector<std::string> places() {
  const auto said = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value == '/' ? std::string(value) : std::string();
  };
  std::vector<std::string> out;
  if (const auto cache = said("XDG_CACHE_HOME"); !cache.empty()) out.push_back(cache);
  if (const auto home = said("HOME"); !home.empty()) out.push_back(home + "/.cache");
  if (const auto temporary = said("TMPDIR"); !temporary.empty()) out.push_back(temporary);
  out.push_back("/tmp");
  return out;
}

OwnedFd open_folder(int at, const char* name) {
  return OwnedFd(openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

template <typename Each>
void for_each_name(int folder, Each each) {
  const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* list = copy < 0 ? nullptr : fdopendir(copy);
  if (list == nullptr) {
    if (copy >= 0) close(copy);
    return;
  }
  while (const dirent* entry = readdir(list)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") each(name);
  }
  closedir(list);
}

void remove_inside(int folder, int levels) {
  for_each_name(folder, [&](const std::string& name) {
    if (unlinkat(folder, name.c_str(), 0) == 0 || levels == 0) return;
    if (const OwnedFd inner = open_folder(folder, name.c_str())) {
      remove_inside(inner.get(), levels - 1);
    }
    unlinkat(folder, name.c_str(), AT_REMOVEDIR);
  });
}

void remove_ended(int base) {
  for_each_name(base, [&](const std::string& name) {
    const OwnedFd folder = open_folder(base, name.c_str());
    struct stat facts{};
    if (!folder || fstat(folder.get(), &facts) != 0) return;
    const bool young = std::time(nullptr) - facts.st_mtime < kSecondsToLock;
    if (name.compare(0, 4, kOwn) != 0 && young) return;
    if (flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return;  // its worker lives
    remove_inside(folder.get(), kMostLevels);
    unlinkat(base, name.c_str(), AT_REMOVEDIR);
  });
}

std::string make_in(const std::string& place) {
  mkdir(place.c_str(), 0700);
  const std::string base = place + "/fettle-workers-" + std::to_string(geteuid());
  mkdir(base.c_str(), 0700);
  const OwnedFd all = open_folder(AT_FDCWD, base.c_str());
  struct stat facts{};
  // Among temporary files somebody else may have made it.
  if (!all || fstat(all.get(), &facts) != 0 || facts.st_uid != geteuid() ||
      (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return "";
  }
  remove_ended(all.get());
  std::string made = base + "/" + kNew + "XXXXXX";
  if (mkdtemp(made.data()) == nullptr) return "";
  OwnedFd lock = open_folder(AT_FDCWD, made.c_str());
  if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return "";
  const std::string own = base + "/" + kOwn + made.substr(made.size() - 6);
  if (std::rename(made.c_str(), own.c_str()) != 0) return "";
  char* real = realpath(own.c_str(), nullptr);
  if (real == nullptr) return "";
  const std::string out = real;
  std::free(real);
  lock.release();  // the process' end unlocks it
  return out;
}

}  // namespace

std::string make_own_folder() {
  for (const std::string& place : places()) {
    if (std::string made = make_in(place); !made.empty()) return made;
  }
  return "";
}

}  // namespace fettle::agent
