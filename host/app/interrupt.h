// Interrupt: Ctrl-C, SIGTERM and the terminal's end (SIGHUP, unless it is ignored) as a stop signal
// of the tuning loop. The first one asks for a clean stop; a second of the former two ends the
// process at once, unless it comes within a tenth of a second.
#pragma once

#include <stop_token>
#include <thread>

#include "host/tune/tune.h"

namespace fettle::app {

// One object at a time; the handlers stay until it is destroyed.
class Interrupt final : public tune::StopSignal {
 public:
  Interrupt();
  ~Interrupt() override;
  bool requested() const override;
  int fd() const override;
  // As a first Ctrl-C; nothing after one. Of the object that there is, if there is one.
  static void request();
};

// Until it goes out of scope, Ctrl-C asks the work to stop.
class StopOnInterrupt {
 public:
  StopOnInterrupt(const Interrupt& interrupt, std::stop_source& source);

 private:
  std::jthread thread_;
};

}  // namespace fettle::app
