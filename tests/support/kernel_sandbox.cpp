// Asking the kernel (kernel_sandbox.h).
#include "tests/support/kernel_sandbox.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FETTLE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FETTLE_SANITIZED 1
#endif
#endif

namespace fettle::test {
namespace {

#ifdef FETTLE_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr int kForbidden = 64;  // exit status of a child whose forbidden call was made
constexpr long kLandlockCreateRuleset = 444;  // older systems' headers lack both
constexpr unsigned kLandlockAskVersion = 1;

// Wait status of a child that returns from `attempt`: an errno, or 0.
int tried(int (*attempt)()) {
  const pid_t child = fork();
  if (child == 0) _exit(attempt());
  int status = -1;
  return waitpid(child, &status, 0) == child ? status : -1;
}

// "" where the child came to a good end.
std::string why_not(const char* what, int (*attempt)()) {
  const int status = tried(attempt);
  if (status == 0) return "";
  const bool said = WIFEXITED(status) && WEXITSTATUS(status) != 0;
  return std::string(what) + ": " + (said ? std::strerror(WEXITSTATUS(status)) : "no answer");
}

// Forbids getppid and calls it.
int call_what_is_forbidden() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_getppid, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof code / sizeof code[0], code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  if (syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    return errno;
  }
  syscall(__NR_getppid);
  return kForbidden;
}

}  // namespace

std::string why_no_call_filter() {
  const int status = tried(call_what_is_forbidden);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) return "";
  if (WIFEXITED(status) && WEXITSTATUS(status) != kForbidden) {
    return std::string("no seccomp here: ") + std::strerror(WEXITSTATUS(status));
  }
  return "no seccomp here: a filter is taken and does not hold";
}

std::string why_no_memory_limit() {
  if (kSanitized) return "a build with a sanitizer, whose memory fits into no limit";
  return why_not("no memory limits here", [] {
    const rlimit none{0, 0};
    if (setrlimit(RLIMIT_AS, &none) != 0) return errno;
    // qemu-user takes it and forgets it.
    void* at = mmap(nullptr, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED && errno == ENOMEM ? 0 : ENOSYS;
  });
}

std::string why_no_landlock() {
  return why_not("no Landlock here", [] {
    const long version = syscall(kLandlockCreateRuleset, nullptr, 0, kLandlockAskVersion);
    return version >= 1 ? 0 : errno;
  });
}

std::string why_no_mounts() {
  return why_not("no mount namespaces here", [] {
    const int wanted = geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS;
    return unshare(wanted) == 0 ? 0 : errno;
  });
}

std::string why_not_strict() {
  const std::string unlimited = why_no_memory_limit();
  return unlimited.empty() ? why_no_call_filter() : unlimited;
}

}  // namespace fettle::test
