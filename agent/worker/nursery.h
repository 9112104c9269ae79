// The nursery: a small single-threaded process, forked before the supervisor
// starts threads, that forks workers on request and reports their deaths. (A
// process with threads must not fork without exec, and qemu-user cannot exec
// /proc/self/exe.) It dies with the supervisor and takes the workers along.
#pragma once

#include <sys/types.h>
#include <functional>
#include <optional>

#include "agent/worker/request_link.h"
#include "schemas/wire/result.h"

namespace fettle::agent {

// What a worker process does, with its end of the channel and the memory of its status page
// (StatusPage::map); returns its exit status. It may execute a program in its place.
using WorkerMain = std::function<int(std::uint32_t device, int socket, int status_memory)>;

struct NurseryEvent {
  enum class Kind : std::uint32_t { Started, Exited, Failed } kind;
  std::uint64_t serial;  // of the start request
  std::int32_t pid;
  std::int32_t wait_status;  // of waitpid; Failed: errno of fork
};

// Where workers' standard output and error go: where this process' go, or into a pipe that holds 64
// KiB; what is over that is lost, and nobody waits.
enum class WorkerOutput : std::uint8_t { Shared, Piped };

// The supervisor's side.
class Nursery {
 public:
  // Forks the nursery; call while the process has one thread. Piped workers read nothing from
  // standard input either.
  // `before` runs first in the nursery: it may execute a program in its place, which then calls
  // serve() with that socket, inherited, and its parent's pid.
  using Before = std::function<void(int socket, pid_t supervisor)>;
  static Result<Nursery> start(WorkerMain worker_main, WorkerOutput output = WorkerOutput::Shared,
                               const Before& before = nullptr);
  [[noreturn]] static void serve(int socket, pid_t supervisor, const WorkerMain& worker_main);
  Nursery(Nursery&&) noexcept = default;
  Nursery& operator=(Nursery&&) noexcept = default;

  int fd() const { return socket_.get(); }  // readable: next_event has something
  // Asks for a worker that has `socket` and `status_memory`.
  Result<void> start_worker(std::uint64_t serial, std::uint32_t device, int socket,
                            int status_memory);
  // SIGKILL; nothing when it has ended already.
  void kill_worker(std::uint64_t serial);
  // Nothing when there is none now; Unreachable when the nursery is gone.
  Result<std::optional<NurseryEvent>> next_event();
  int output_fd() const { return output_.get(); }  // not blocking; -1: workers' output is shared

 private:
  Nursery() = default;
  OwnedFd socket_, output_;
};

}  // namespace fettle::agent
