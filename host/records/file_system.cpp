// File systems by statfs(2) and mountinfo, and a lock that is tried (file_system.h).
#include "host/records/file_system.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace fettle::records {
namespace {

struct NetworkKind {
  std::uint32_t magic;
  const char* name;
};
// linux/magic.h, which has not all of them.
constexpr NetworkKind kNetworkKinds[] = {
    {0x6969, "NFS"},        {0xff534d42, "CIFS"},
    {0xfe534d42, "SMB"},    {0x517b, "SMB"},
    {0x65735546, "FUSE"},   {0x01021997, "9p"},
    {0x00c36400, "Ceph"},   {0x0bd00bd0, "Lustre"},
    {0x5346414f, "AFS"},    {0x6b414653, "AFS"},
    {0x73757245, "Coda"},   {0x01161970, "GFS2"},
    {0x7461636f, "OCFS2"},  {0x786f4256, "a shared folder of VirtualBox"},
    {0x19830326, "BeeGFS"}, {0x47504653, "GPFS"}};

// Mount options by which locks stay on this machine.
constexpr const char* kLocalLocks[] = {"nolock", "local_lock=all", "local_lock=posix", "nobrl"};

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

std::string mount_options_of(dev_t device) {
  std::ifstream mounts("/proc/self/mountinfo");
  const std::string number = std::to_string(major(device)) + ":" + std::to_string(minor(device));
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string id, parent, found, word, last;
    words >> id >> parent >> found;
    if (found != number) continue;
    while (words >> word) last = word;
    return last;
  }
  return {};
}

// Bytes that SQLite neither locks nor writes: its own are from 1 GiB on, 512 of them.
struct flock lock_of(short kind) {
  struct flock lock{};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = 0x40001000;
  lock.l_len = 1;
  return lock;
}

// A server that does not answer must not hold the caller.
void give_up_after(unsigned seconds) {
  ::signal(SIGALRM, SIG_DFL);
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  sigprocmask(SIG_UNBLOCK, &alarm, nullptr);
  ::alarm(seconds);
}

bool ended_well(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

constexpr unsigned kLockSeconds = 10;

// In a child of a process that may have threads: nothing but system calls.
[[noreturn]] void lock_and_have_it_tried(const char* path, int flags) {
  give_up_after(kLockSeconds);
  bool writable = true;
  int fd = ::open(path, O_RDWR | O_CLOEXEC | flags, 0644);
  if (fd < 0) {
    writable = false;
    fd = ::open(path, O_RDONLY | O_CLOEXEC);
  }
  struct flock mine = lock_of(writable ? F_WRLCK : F_RDLCK);
  if (fd < 0 || ::fcntl(fd, F_SETLK, &mine) != 0) ::_exit(1);
  const pid_t other = ::fork();
  if (other == 0) {
    give_up_after(kLockSeconds);
    struct flock wanted = lock_of(F_WRLCK);
    const int again = ::open(path, O_RDONLY | O_CLOEXEC);
    // Who holds it is asked, not taken: a file that may only be read tells that, too.
    ::_exit(again >= 0 && ::fcntl(again, F_GETLK, &wanted) == 0 && wanted.l_type != F_UNLCK ? 0
                                                                                            : 1);
  }
  ::_exit(other > 0 && ended_well(other) ? 0 : 1);
}

class SystemProbe final : public FileSystemProbe {
 public:
  Result<FileSystem> at(const std::string& path) const override {
    struct statfs facts{};
    struct stat status{};
    for (const std::string& one : {path, folder_of(path)}) {
      if (::statfs(one.c_str(), &facts) != 0 || ::stat(one.c_str(), &status) != 0) continue;
      return FileSystem{static_cast<std::uint32_t>(facts.f_type), mount_options_of(status.st_dev)};
    }
    return Error{ErrorCode::Io, "'" + path + "': " + std::strerror(errno), {}};
  }
  bool locks_hold(const std::string& path, bool create) const override {
    const pid_t child = ::fork();
    if (child == 0) lock_and_have_it_tried(path.c_str(), create ? O_CREAT : 0);
    return child > 0 && ended_well(child);
  }
};

}  // namespace

const FileSystemProbe& system_probe() {
  static const SystemProbe probe;
  return probe;
}

Result<DatabasePlace> place_of(const std::string& path, bool create, const FileSystemProbe& probe) {
  const auto found = probe.at(path);
  // A folder that is not there: SQLite's own message says so.
  if (!found) return DatabasePlace::Local;
  const char* name = nullptr;
  for (const NetworkKind& kind : kNetworkKinds) {
    if (kind.magic == found->magic) name = kind.name;
  }
  if (name == nullptr) return DatabasePlace::Local;
  std::string why;
  const std::string options = "," + found->mount_options + ",";
  for (const char* option : kLocalLocks) {
    if (options.find("," + std::string(option) + ",") != std::string::npos) {
      why = std::string("mounted with ") + option + ", so that other machines see no locks";
    }
  }
  if (why.empty() && !probe.locks_hold(path, create)) why = "and a lock tried there did not hold";
  if (why.empty()) return DatabasePlace::Network;
  return Error{ErrorCode::Io,
               "database '" + path + "' is on a network file system (" + name + "), " + why +
                   ": two processes could damage it; name a file on a local disk (--db), and copy "
                   "it there afterwards",
               {}};
}

}  // namespace fettle::records
