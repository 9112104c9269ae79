// By Landlock, else by mounts (file_access.h).
#include "agent/sandbox/file_access.h"

#include <fcntl.h>
#include <unistd.h>

#include "agent/platform/owned_fd.h"
#include "agent/sandbox/landlock.h"
#include "agent/sandbox/mount_access.h"

namespace fettle::agent {
namespace {

// Tried, not assumed: files without names, which leave nothing behind where they can be made.
std::string where_files_can_be_made() {
  for (const char* folder : {".", "/", "/tmp", "/var/tmp", "/dev/shm"}) {
    const OwnedFd made(open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (made) return std::string("files can be made in ") + folder;
  }
  return "";
}

}  // namespace

std::string confine_files(const FileAccess& access) {
  const std::string landlock = confine_by_landlock(access);
  if (landlock.empty()) return where_files_can_be_made();
  const std::string mounts = confine_by_mounts(access);
  return mounts.empty() ? where_files_can_be_made() : landlock + "; " + mounts;
}

}  // namespace fettle::agent
