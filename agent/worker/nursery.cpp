// Both sides of the nursery (nursery.h).
#include "agent/worker/nursery.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>

namespace fettle::agent {
namespace {

struct Command {
  enum class Kind : std::uint32_t { Start, Kill } kind;
  std::uint32_t device;
  std::uint64_t serial;
};

// Takes one command and up to two descriptors; false at the end of the supervisor.
bool receive_command(int socket, Command& command, int fds[2]) {
  iovec part{&command, sizeof command};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got;
  do got = recvmsg(socket, &message, 0);
  while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof command)) return false;
  fds[0] = fds[1] = -1;
  if (const cmsghdr* rights = CMSG_FIRSTHDR(&message);
      rights && rights->cmsg_type == SCM_RIGHTS && rights->cmsg_len == CMSG_LEN(2 * sizeof(int))) {
    std::memcpy(fds, CMSG_DATA(rights), 2 * sizeof(int));
  }
  return true;
}

void report(int socket, NurseryEvent event) {
  ssize_t n;
  do n = send(socket, &event, sizeof event, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
}

}  // namespace

void Nursery::serve(int socket, pid_t supervisor, const WorkerMain& worker_main) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != supervisor) _exit(0);
  // Ctrl-C goes to the whole group, a service manager's SIGTERM to every process of the
  // service, workers too: the supervisor decides what it means.
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  sigset_t children, before;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, &before);
  const int deaths = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  if (deaths < 0) _exit(1);
  std::map<pid_t, std::uint64_t> workers;

  while (true) {
    pollfd watched[2] = {{socket, POLLIN, 0}, {deaths, POLLIN, 0}};
    if (poll(watched, 2, -1) < 0 && errno != EINTR) break;
    if (watched[1].revents) {
      signalfd_siginfo drained;
      while (read(deaths, &drained, sizeof drained) > 0) {
      }
      int status;
      for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        report(socket, {NurseryEvent::Kind::Exited, workers[pid], pid, status});
        workers.erase(pid);
      }
    }
    if (!watched[0].revents) continue;
    Command command;
    int fds[2];
    if (!receive_command(socket, command, fds)) break;
    if (command.kind == Command::Kind::Kill) {
      for (const auto& [pid, serial] : workers) {
        if (serial == command.serial) kill(pid, SIGKILL);  // not reaped yet: the pid is its own
      }
      continue;
    }
    const pid_t nursery = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != nursery) _exit(0);
      sigprocmask(SIG_SETMASK, &before, nullptr);
      close(socket);
      close(deaths);
      _exit(worker_main(command.device, fds[0], fds[1]));
    }
    const int fork_errno = errno;
    close(fds[0]);
    close(fds[1]);
    if (pid < 0) {
      report(socket, {NurseryEvent::Kind::Failed, command.serial, 0, fork_errno});
    } else {
      workers[pid] = command.serial;
      report(socket, {NurseryEvent::Kind::Started, command.serial, pid, 0});
    }
  }
  for (const auto& [pid, serial] : workers) kill(pid, SIGKILL);
  _exit(0);
}

Result<Nursery> Nursery::start(WorkerMain worker_main, WorkerOutput output, const Before& before) {
  int ends[2], pipe_ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error{ErrorCode::Io, std::string("socketpair: ") + std::strerror(errno)};
  }
  if (output == WorkerOutput::Piped && pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    return Error{ErrorCode::Io, std::string("pipe: ") + std::strerror(errno)};
  }
  OwnedFd output_end(pipe_ends[0]);
  const OwnedFd worker_end(pipe_ends[1]);
  const pid_t supervisor = getpid();
  const pid_t pid = fork();
  if (pid < 0) return Error{ErrorCode::Io, std::string("fork: ") + std::strerror(errno)};
  if (pid == 0) {
    close(ends[0]);
    if (worker_end) {
      const OwnedFd nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
      dup2(nothing.get(), STDIN_FILENO);
      dup2(worker_end.get(), STDOUT_FILENO);
      dup2(worker_end.get(), STDERR_FILENO);
    }
    if (before) before(ends[1], supervisor);
    serve(ends[1], supervisor, worker_main);
  }
  close(ends[1]);
  Nursery out;
  out.output_ = std::move(output_end);
  out.socket_ = OwnedFd(ends[0]);
  return out;
}

Result<void> Nursery::start_worker(std::uint64_t serial, std::uint32_t device, int socket,
                                   int status_memory) {
  Command command{Command::Kind::Start, device, serial};
  iovec part{&command, sizeof command};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(2 * sizeof(int));
  const int fds[2] = {socket, status_memory};
  std::memcpy(CMSG_DATA(rights), fds, sizeof fds);
  ssize_t n;
  do n = sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  if (n < 0) return Error{ErrorCode::Io, std::string("the nursery: ") + std::strerror(errno)};
  return {};
}

void Nursery::kill_worker(std::uint64_t serial) {
  const Command command{Command::Kind::Kill, 0, serial};
  ssize_t n;
  do n = send(socket_.get(), &command, sizeof command, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
}

Result<std::optional<NurseryEvent>> Nursery::next_event() {
  NurseryEvent event;
  ssize_t n;
  do n = recv(socket_.get(), &event, sizeof event, MSG_DONTWAIT);
  while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(sizeof event)) return std::optional(event);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::optional<NurseryEvent>();
  return Error{ErrorCode::Unreachable, "the agent's nursery process has died"};
}

}  // namespace fettle::agent
