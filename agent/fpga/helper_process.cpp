// The FPGA helper as a process (fpga_helper.h).
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "agent/fpga/fpga_helper.h"

namespace fettle::agent {
namespace {

constexpr int kFirstPassed = 3;  // sd_listen_fds(3)

// Readable when the process is to end: not at once, since the accelerator has to stop first.
OwnedFd end_signals() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  return OwnedFd(signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

Result<std::string> fork_fpga_helper(const SystemRoot& root, std::vector<HelperDevice> devices) {
  std::string address;
  auto listening = listen_for_workers(address);
  if (!listening) return std::move(listening).error();
  const pid_t agent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return Error{ErrorCode::Io, std::string("fork: ") + std::strerror(errno)};
  if (pid > 0) return address;
  // Ctrl-C goes to all of the terminal's processes: the agent's end is what counts.
  std::signal(SIGINT, SIG_IGN);
  const OwnedFd until = end_signals();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != agent) _exit(0);
  FpgaHelper(root, std::move(devices)).serve(listening->get(), until.get());
  _exit(0);
}

int run_fpga_helper(const SystemRoot& root, std::vector<HelperDevice> devices) {
  const char* pid = std::getenv("LISTEN_PID");
  const char* passed = std::getenv("LISTEN_FDS");
  if (!pid || !passed || std::atol(pid) != getpid() || std::atol(passed) != 1) {
    std::fputs(
        "fettle-fpga: no socket was passed: this is for systemd's fettle-fpga.socket; an "
        "agent that runs as root needs none\n",
        stderr);
    return 2;
  }
  const OwnedFd until = end_signals();
  FpgaHelper(root, std::move(devices)).serve(kFirstPassed, until.get());
  return 0;
}

}  // namespace fettle::agent
