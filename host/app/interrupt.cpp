// Interrupt (interrupt.h): a handler that writes to a pipe.
#include "host/app/interrupt.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>

#include "host/app/message.h"

namespace fettle::app {
namespace {

int pipe_ends[2] = {-1, -1};
// Lock-free, so a handler may touch them.
std::atomic<bool> asked{false};
std::atomic<std::int64_t> first_asked_ms{0};  // 0: never
// `timeout` and shells tell a program and then its group: that is once, too.
constexpr std::int64_t kOneMs = 100;
struct sigaction old_interrupt, old_terminate, old_hangup;

// Async-signal-safe calls only. False: there was one before.
bool is_first(std::int64_t now_ms) {
  std::int64_t none = 0;
  if (!first_asked_ms.compare_exchange_strong(none, now_ms)) return false;
  asked = true;
  [[maybe_unused]] auto written = write(pipe_ends[1], "", 1);
  return true;
}

std::int64_t monotonic_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000 + 1;
}

extern "C" void on_signal(int number) {
  const std::int64_t now_ms = monotonic_ms();
  if (is_first(now_ms)) return;
  // A terminal's end is told by its shell and by the system: that is once.
  if (number == SIGHUP || now_ms - first_asked_ms < kOneMs) return;
  constexpr char kText[] = "\x1b[?25h\nfettle: stopped at once\n";
  [[maybe_unused]] auto said =
      write(2, isatty(2) ? kText : kText + 6, sizeof kText - (isatty(2) ? 1 : 7));
  _exit(kInterrupted);
}

}  // namespace

Interrupt::Interrupt() {
  asked = false;
  first_asked_ms = 0;
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

bool Interrupt::requested() const { return asked; }
void Interrupt::request() { is_first(monotonic_ms()); }
int Interrupt::fd() const { return pipe_ends[0]; }

StopOnInterrupt::StopOnInterrupt(const Interrupt& interrupt, std::stop_source& source)
    : thread_([&interrupt, &source](const std::stop_token& end) {
        while (!end.stop_requested() && !interrupt.requested()) {
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        if (interrupt.requested()) source.request_stop();
      }) {}

}  // namespace fettle::app
