// fork, the few settings, exec; and the end of a child.
#include "host/process/child_process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace fettle::process {
namespace {

// Sanitizers map terabytes: an address space limit would end the child at once.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FETTLE_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(FETTLE_SANITIZED)
constexpr bool kLimitAddressSpace = false;
#else
constexpr bool kLimitAddressSpace = true;
#endif

constexpr int kFirstFree = 64;  // descriptors are moved up here before they are placed

struct Failure {
  int error;
  char doing[24];
};

[[noreturn]] void fail(int report_fd, const char* doing) {
  Failure failure{errno, {}};
  std::strncpy(failure.doing, doing, sizeof failure.doing - 1);
  if (::write(report_fd, &failure, sizeof failure) < 0) { /* nobody to tell */
  }
  ::_exit(127);
}

// In the child, between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(const ChildPlan& plan, char* const* argv, char* const* environment,
                         pid_t parent, int report_fd, const cpu_set_t& cores, int* moved) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before prctl
  if (plan.own_group) ::setpgid(0, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int signal : {SIGPIPE, SIGTERM, SIGHUP, SIGCHLD}) ::signal(signal, SIG_DFL);
  // Ctrl-C reaches the whole foreground group; the parent decides when its children end.
  ::signal(SIGINT, SIG_IGN);
  const int report = ::fcntl(report_fd, F_DUPFD_CLOEXEC, kFirstFree);
  if (report < 0) fail(report_fd, "fcntl");
  for (std::size_t i = 0; i < plan.descriptors.size(); ++i) {
    moved[i] = ::fcntl(plan.descriptors[i].first, F_DUPFD_CLOEXEC, kFirstFree);
    if (moved[i] < 0) fail(report, "fcntl");
  }
  for (std::size_t i = 0; i < plan.descriptors.size(); ++i) {
    if (::dup2(moved[i], plan.descriptors[i].second) < 0) fail(report, "dup2");
  }
  if (!plan.cores.empty() && ::sched_setaffinity(0, sizeof cores, &cores) != 0) {
    fail(report, "sched_setaffinity");
  }
  if (plan.memory_bytes > 0 && kLimitAddressSpace) {
    rlimit limit{};
    ::getrlimit(RLIMIT_AS, &limit);  // a login node's is not to be raised
    limit.rlim_max = std::min<rlim_t>(plan.memory_bytes, limit.rlim_max);
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_AS, &limit) != 0) fail(report, "setrlimit");
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::execvpe(plan.program.empty() ? argv[0] : plan.program.c_str(), argv, environment);
  fail(report, "exec");
}

// For exec; as long as `words` live.
std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

// The child's: of `plan`, and of this process but what that sets anew or hides.
std::vector<std::string> environment_of(const ChildPlan& plan) {
  std::vector<std::string> out = plan.environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view kept(*entry);
    const std::string_view name = kept.substr(0, kept.find('=') + 1);
    const auto replaces = [&](const std::string& each) { return each.starts_with(name); };
    const auto hides = [&](const std::string& prefix) { return kept.starts_with(prefix); };
    if (std::none_of(plan.environment.begin(), plan.environment.end(), replaces) &&
        std::none_of(plan.hidden.begin(), plan.hidden.end(), hides)) {
      out.emplace_back(kept);
    }
  }
  return out;
}

}  // namespace

Result<pid_t> start_child(const ChildPlan& plan) {
  const std::vector<char*> argv = pointers_to(plan.argv);
  const std::vector<std::string> variables = environment_of(plan);
  const std::vector<char*> environment = pointers_to(variables);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (int core : plan.cores)
    if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &cores);
  std::vector<int> moved(plan.descriptors.size());
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) {
    return Error{ErrorCode::Io, std::string("cannot make a pipe: ") + std::strerror(errno)};
  }
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    become(plan, argv.data(), environment.data(), parent, report[1], cores, moved.data());
  }
  const int fork_error = errno;
  ::close(report[1]);
  if (pid < 0) {
    ::close(report[0]);
    return Error{ErrorCode::Io,
                 std::string("cannot start a process: ") + std::strerror(fork_error)};
  }
  Failure failure{};
  ssize_t got;
  do got = ::read(report[0], &failure, sizeof failure);
  while (got < 0 && errno == EINTR);
  ::close(report[0]);
  if (got == 0) return pid;  // exec closed it
  ::waitpid(pid, nullptr, 0);
  return Error{ErrorCode::Io, "cannot start " + plan.argv[0] + ": " + failure.doing + ": " +
                                  std::strerror(failure.error)};
}

int end_child(pid_t pid) {
  ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string describe_wait_status(int status) {
  if (WIFSIGNALED(status)) {
    const char* name = ::sigabbrev_np(WTERMSIG(status));
    return std::string("signal ") + (name ? "SIG" + std::string(name) : "?") + " (" +
           ::strsignal(WTERMSIG(status)) + ")";
  }
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

Result<std::string> own_executable() {
  std::error_code failed;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return Error{ErrorCode::Io, "cannot read /proc/self/exe: " + failed.message()};
  return path.string();
}

Result<std::string> own_folder() {
  Dl_info where{};
  std::error_code failed;
  if (::dladdr(reinterpret_cast<const void*>(&own_folder), &where) != 0 && where.dli_fname) {
    const std::filesystem::path file = std::filesystem::canonical(where.dli_fname, failed);
    if (!failed && file.filename().string().find(".so") != std::string::npos) {
      return file.parent_path().string();
    }
  }
  auto program = own_executable();
  if (!program) return program;
  return std::filesystem::path(*program).parent_path().string();
}

}  // namespace fettle::process
