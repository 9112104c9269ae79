// Resource limits, and which level really holds (sandbox.h).
#include "agent/sandbox/sandbox.h"

#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FETTLE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define FETTLE_SANITIZED 1
#endif
#endif
#ifndef FETTLE_SANITIZED
#define FETTLE_SANITIZED 0
#endif

namespace fettle::agent {
namespace {

// True when the kernel took the limit and keeps it: a mapping beyond it fails.
bool limit_address_space(std::uint64_t bytes) {
  rlimit limit{static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
  if (static_cast<std::uint64_t>(limit.rlim_cur) != bytes || setrlimit(RLIMIT_AS, &limit) != 0) {
    return false;
  }
  // qemu-user says yes and forgets it.
  if (getrlimit(RLIMIT_AS, &limit) != 0 || static_cast<std::uint64_t>(limit.rlim_cur) != bytes) {
    return false;
  }
  const auto probe = static_cast<std::size_t>(bytes);
  void* at = mmap(nullptr, probe, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return errno == ENOMEM;
  munmap(at, probe);
  return false;
}

}  // namespace

std::uint64_t address_space_bytes(int statm_fd) {
  char text[64];
  const ssize_t n = pread(statm_fd, text, sizeof text - 1, 0);
  if (n <= 0) return 0;
  text[n] = 0;
  return std::strtoull(text, nullptr, 10) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

namespace {

// From the program's first byte to the end of its code, which is one piece in a static one.
Addresses own_image() {
  Addresses out;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        auto& found = *static_cast<Addresses*>(to);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          if (part.p_type != PT_LOAD) continue;
          const auto begin = static_cast<std::uintptr_t>(info->dlpi_addr + part.p_vaddr);
          if (found.begin == 0 || begin < found.begin) found.begin = begin;
          if (part.p_flags & PF_X) {
            found.end = std::max(found.end, begin + static_cast<std::uintptr_t>(part.p_memsz));
          }
        }
        return 1;  // the program is the first
      },
      &out);
  return out;
}

// A file could be cut off, and one that is open to be read as well be mapped and changed.
void let_go_of_files() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    struct stat facts{};
    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, fd);
    if (nothing >= 0) close(nothing);
  }
}

std::string install_filter(const SandboxPolicy& policy, const SandboxSurroundings& surroundings) {
  if (policy.calls != SystemCalls::Listed) {
    return install_driver_filter(policy.calls == SystemCalls::Builds);
  }
  return install_system_call_filter({surroundings.code, own_image()});
}

}  // namespace

SandboxState enter_sandbox(const SandboxPolicy& policy, const SandboxSurroundings& surroundings) {
  SandboxState state;
  // No core files, no other files written, no new processes (not enforced for
  // root), few descriptors (a request may pass a few hundred). No limit on CPU time: the process
  // lives for many trials, and the supervisor's deadline counts run time per trial.
  const rlimit none{0, 0}, few{512, 512};
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_NOFILE, &few);
  if (policy.calls != SystemCalls::Builds) {
    setrlimit(RLIMIT_FSIZE, &none);
    let_go_of_files();
  }
  if (policy.calls == SystemCalls::Listed) {
    setrlimit(RLIMIT_NPROC, &none);  // a driver may start threads; its filter forbids processes
  } else {
    // A driver that writes to a file is told that it cannot, and does not die of it.
    signal(SIGXFSZ, SIG_IGN);
  }
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);

  // A sanitizer's shadow memory fits into no limit, and it makes calls of its own.
  bool limited = FETTLE_SANITIZED == 0;
  if (!limited) {
    state.note = "built with a sanitizer";
  } else if (policy.extra_memory_bytes > 0) {
    const int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    std::uint64_t limit = address_space_bytes(statm) + policy.extra_memory_bytes;
    if (statm >= 0) close(statm);
    if (limit > UINTPTR_MAX) limit = UINTPTR_MAX & ~std::uint64_t{0xfff};
    limited = limit_address_space(limit);
    if (limited)
      state.address_space_limit = limit;
    else
      state.note = "the kernel does not keep memory limits";
  }
  const bool listed = policy.calls == SystemCalls::Listed;
  bool filtered = false;
  if (FETTLE_SANITIZED == 0 || !listed) {
    const std::string why_not = install_filter(policy, surroundings);
    filtered = why_not.empty();
    if (!filtered) state.note = why_not;
  }
  const bool confined = listed || surroundings.files_in_reach.empty();
  if (filtered && !confined) state.note = "files are in reach: " + surroundings.files_in_reach;
  state.holds = filtered && confined && (limited || !listed);
  if (state.holds) {
    state.level = listed ? wire::Sandbox::Strict : wire::Sandbox::Driver;
  } else if (limited || filtered) {
    state.level = wire::Sandbox::Limits;
  }
  if (FETTLE_SANITIZED == 1) state.holds = true;
  // Without a filter, a network namespace of its own keeps the worker off the net.
  if (!filtered) {
    if (unshare(CLONE_NEWNET) != 0 && state.note.empty()) state.note = "no own network namespace";
  }
  return state;
}

const char* system_call_name(std::uint32_t number) {
  struct Row {
    std::uint32_t number;
    const char* name;
  };
#define FETTLE_CALL(name) {__NR_##name, #name}
  static const Row rows[] = {
#if defined(__x86_64__) || defined(__arm__)
      FETTLE_CALL(open),         FETTLE_CALL(fork),     FETTLE_CALL(vfork),
      FETTLE_CALL(unlink),       FETTLE_CALL(rmdir),    FETTLE_CALL(mkdir),
      FETTLE_CALL(poll),         FETTLE_CALL(pause),
#endif
      FETTLE_CALL(openat),       FETTLE_CALL(socket),   FETTLE_CALL(connect),
      FETTLE_CALL(bind),         FETTLE_CALL(sendto),   FETTLE_CALL(sendmsg),
      FETTLE_CALL(clone),        FETTLE_CALL(execve),   FETTLE_CALL(kill),
      FETTLE_CALL(ptrace),       FETTLE_CALL(ioctl),    FETTLE_CALL(unlinkat),
      FETTLE_CALL(mkdirat),      FETTLE_CALL(prctl),    FETTLE_CALL(setrlimit),
      FETTLE_CALL(chdir),        FETTLE_CALL(mprotect), FETTLE_CALL(getuid),
      FETTLE_CALL(reboot),       FETTLE_CALL(mount),    FETTLE_CALL(rt_sigaction),
      FETTLE_CALL(tgkill),       FETTLE_CALL(fcntl),    FETTLE_CALL(getppid),
      FETTLE_CALL(writev),       FETTLE_CALL(readv),    FETTLE_CALL(uname),
      FETTLE_CALL(recvmsg),      FETTLE_CALL(futex),    FETTLE_CALL(mremap),
      FETTLE_CALL(write),        FETTLE_CALL(recvfrom), FETTLE_CALL(getrandom),
#if defined(__NR_mmap)
      FETTLE_CALL(mmap),
#endif
#if defined(__NR_mmap2)
      FETTLE_CALL(mmap2),
#endif
#if defined(__NR_fcntl64)
      FETTLE_CALL(fcntl64),
#endif
#if defined(__NR_clone3)
      FETTLE_CALL(clone3),
#endif
#if defined(__NR_memfd_create)
      FETTLE_CALL(memfd_create),
#endif
  };
#undef FETTLE_CALL
  for (const Row& row : rows) {
    if (row.number == number) return row.name;
  }
  return "";
}

}  // namespace fettle::agent
