// Start, wait for the end or for a stop signal, reap (logged_child.h).
#include "tests/bench/versions/logged_child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>

#include "host/process/child_process.h"

namespace fettle::bench {
namespace {

constexpr int kGraceMs = 5000;             // between SIGTERM and SIGKILL
constexpr std::size_t kQuotedBytes = 800;  // of what a failed child said last

// A descriptor of ours, closed at the end.
struct Descriptor {
  int fd;
  explicit Descriptor(int opened) : fd(opened) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Error io_error(const std::string& doing) {
  return Error{ErrorCode::Io, doing + ": " + std::strerror(errno), {}};
}

std::string last_words(const std::filesystem::path& errors) {
  const auto text = text_of_file(errors);
  if (!text || text->empty()) return "it said nothing";
  std::string end = *text;
  if (end.size() > kQuotedBytes) {
    const std::size_t line = end.find('\n', end.size() - kQuotedBytes);
    end = end.substr(line == end.npos ? end.size() - kQuotedBytes : line + 1);
  }
  while (end.ends_with('\n')) end.pop_back();
  return "it said:\n" + end;
}

// True once the process has ended; false: `stop` was requested before.
bool ended_before_stop(int process, const tune::StopSignal& stop) {
  pollfd waited[2] = {{process, POLLIN, 0}, {stop.fd(), POLLIN, 0}};
  for (;;) {
    if (stop.requested()) return false;
    if (::poll(waited, 2, -1) < 0 && errno != EINTR) return false;
    if (waited[0].revents != 0) return true;
  }
}

void end_gently(pid_t pid, int process) {
  ::kill(pid, SIGTERM);
  pollfd waited{process, POLLIN, 0};
  while (::poll(&waited, 1, kGraceMs) < 0 && errno == EINTR) {
  }
  process::end_child(pid);
}

}  // namespace

Result<std::string> text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return io_error("cannot read " + path.string());
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<double> run_logged(const std::vector<std::string>& argv, const ChildLogs& logs,
                          const tune::StopSignal& stop) {
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const Descriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Descriptor output(::open(logs.output.c_str(), kWrite, 0644));
  if (output.fd < 0) return io_error("cannot write " + logs.output.string());
  const Descriptor errors(::open(logs.errors.c_str(), kWrite, 0644));
  if (errors.fd < 0) return io_error("cannot write " + logs.errors.string());
  process::ChildPlan plan;
  plan.argv = argv;
  plan.descriptors = {{input.fd, 0}, {output.fd, 1}, {errors.fd, 2}};
  const auto begin = std::chrono::steady_clock::now();
  const auto pid = process::start_child(plan);
  if (!pid) return pid.error();
  // Debian 12's <sys/pidfd.h> declares its functions for C only.
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
  if (process.fd < 0) {
    const Error why = io_error("cannot watch a child process");
    process::end_child(*pid);
    return why;
  }
  if (!ended_before_stop(process.fd, stop)) {
    end_gently(*pid, process.fd);
    return Error{ErrorCode::Canceled, "interrupted", {}};
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  const int status = process::end_child(*pid);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return seconds.count();
  std::string command;
  for (const std::string& word : argv) command += (command.empty() ? "" : " ") + word;
  return Error{ErrorCode::Internal,
               "'" + command + "' ended with " + process::describe_wait_status(status) + "; " +
                   last_words(logs.errors),
               {}};
}

}  // namespace fettle::bench
