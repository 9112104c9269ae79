// The FPGA helper on a thread of this process, for a played board.
#pragma once

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <csignal>

#include "tests/support/played_board.h"

namespace fettle::test {

class PlayedHelper {
 public:
  // Listens, but serves from start() on: a fixture that forks a nursery does so before this process
  // has another thread, which could hold a lock of the allocator just then.
  PlayedHelper(PlayedBoard& board, std::vector<agent::HelperDevice> devices)
      : board_(board), devices_(std::move(devices)), end_(eventfd(0, EFD_CLOEXEC)) {
    std::signal(SIGPIPE, SIG_IGN);  // as in an agent
    listening_ = std::move(*agent::listen_for_workers(address_));
  }
  ~PlayedHelper() { end(); }
  PlayedHelper(const PlayedHelper&) = delete;

  PlayedHelper& start() {
    serving_ = std::thread([this] {
      agent::FpgaHelper(board_.root(), devices_, board_.map_registers())
          .serve(listening_.get(), end_.get());
    });
    return *this;
  }
  void end() {
    if (!serving_.joinable()) return;
    const std::uint64_t one = 1;
    (void)!::write(end_.get(), &one, sizeof one);
    serving_.join();
    ::shutdown(listening_.get(), SHUT_RDWR);  // processes that were forked have it, too
    listening_ = agent::OwnedFd();
  }
  const std::string& address() const { return address_; }

 private:
  PlayedBoard& board_;
  std::vector<agent::HelperDevice> devices_;
  agent::OwnedFd end_, listening_;
  std::string address_;
  std::thread serving_;
};

}  // namespace fettle::test
