// Interrupt (interrupt.h): a handler that writes to a pipe.
#include "host/app/interrupt.h"

#include <fcntl.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <csignal>

#include "host/app/message.h"

namespace fettle::app {
namespace {

int pipe_ends[2] = {-1, -1};
std::atomic<int> times_asked{0};  // lock-free, so a handler may touch it
struct sigaction old_interrupt, old_terminate, old_hangup;

// Async-signal-safe calls only.
extern "C" void on_signal(int number) {
  // A terminal's end is told by its shell and by the system: that is once.
  if (number == SIGHUP && times_asked > 0) return;
  if (++times_asked > 1) {
    constexpr char kText[] = "\x1b[?25h\nfettle: stopped at once\n";
    [[maybe_unused]] auto said =
        write(2, isatty(2) ? kText : kText + 6, sizeof kText - (isatty(2) ? 1 : 7));
    _exit(kInterrupted);
  }
  [[maybe_unused]] auto written = write(pipe_ends[1], "", 1);
}

}  // namespace

Interrupt::Interrupt() {
  times_asked = 0;
  if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0) pipe_ends[0] = pipe_ends[1] = -1;
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &old_interrupt);
  sigaction(SIGTERM, &action, &old_terminate);
  sigaction(SIGHUP, nullptr, &old_hangup);
  if (old_hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // nohup's
}

Interrupt::~Interrupt() {
  sigaction(SIGINT, &old_interrupt, nullptr);
  sigaction(SIGTERM, &old_terminate, nullptr);
  sigaction(SIGHUP, &old_hangup, nullptr);
  for (int& end : pipe_ends) {
    if (end >= 0) close(end);
    end = -1;
  }
}

bool Interrupt::requested() const { return times_asked > 0; }
int Interrupt::fd() const { return pipe_ends[0]; }

StopOnInterrupt::StopOnInterrupt(const Interrupt& interrupt, std::stop_source& source)
    : thread_([&interrupt, &source](const std::stop_token& end) {
        while (!end.stop_requested() && !interrupt.requested()) {
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        if (interrupt.requested()) source.request_stop();
      }) {}

}  // namespace fettle::app
