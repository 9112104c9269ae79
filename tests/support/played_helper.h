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
  PlayedHelper(PlayedBoard& board, std::vector<agent::HelperDevice> devices)
      : end_(eventfd(0, EFD_CLOEXEC)) {
    std::signal(SIGPIPE, SIG_IGN);  // as in an agent
    listening_ = std::move(*agent::listen_for_workers(address_));
    serving_ = std::thread([this, &board, devices = std::move(devices)] {
      agent::FpgaHelper(board.root(), devices, board.map_registers())
          .serve(listening_.get(), end_.get());
    });
  }
  ~PlayedHelper() { end(); }
  PlayedHelper(const PlayedHelper&) = delete;

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
  agent::OwnedFd end_, listening_;
  std::string address_;
  std::thread serving_;
};

}  // namespace fettle::test
