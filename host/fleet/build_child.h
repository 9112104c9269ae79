// BuildChild: one build worker process, seen from the pool. Requests and results go over its
// socket, each a frame of four bytes of length and a message; the end of what it writes to
// standard error is kept, to be told when it fails.
#pragma once

#include <sys/types.h>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "host/fleet/build_pool.h"
#include "host/process/run_program.h"
#include "schemas/wire/codec.h"

namespace fettle::fleet {

// Of one thread, on which the child's life depends (child_process.h). Nothing here waits.
class BuildChild {
 public:
  using Clock = std::chrono::steady_clock;
  // The request that it is on.
  struct UnderWay {
    std::uint64_t id = 0;
    Clock::time_point started;
  };
  struct Heard {
    std::vector<wire::BuildResultT> results;
    bool ended = false;    // it closed its end
    std::string nonsense;  // what it wrote that no worker writes; else empty
  };

  BuildChild() = default;
  BuildChild(const BuildChild&) = delete;
  ~BuildChild() { end(); }

  // A fresh one; none may be running. An Error when the program cannot be started.
  Result<void> start(const BuildPoolOptions& options);
  // Kills it. Its wait status; a child that had died already keeps the status it died with. 0:
  // none was running.
  int end();
  bool running() const { return pid_ >= 0; }
  pid_t pid() const { return pid_; }

  // To poll; -1: none.
  int socket() const { return socket_; }
  int errors() const { return errors_; }
  bool wants_to_write() const { return !to_write_.empty(); }

  // It must be on none.
  void send(const wire::BuildRequestT& request);
  void write_on();  // the rest of it, as far as the socket takes it
  Heard hear();
  void read_errors();
  std::string said() const;  // "; it said: …", or empty

  const std::optional<UnderWay>& under_way() const { return under_way_; }
  void give_up() { under_way_.reset(); }
  // That time does not count as the request's.
  void forgive(Clock::duration time) {
    if (under_way_) under_way_->started += time;
  }

 private:
  void close_errors();

  // Of what it builds: whoever is killed removes no file. Its user's source is among them.
  std::optional<process::LentScratch> scratch_;
  pid_t pid_ = -1;
  int socket_ = -1, errors_ = -1;
  std::optional<UnderWay> under_way_;
  Bytes to_write_, received_;
  std::size_t written_ = 0;
  std::string stderr_tail_;  // since the last result
};

}  // namespace fettle::fleet
