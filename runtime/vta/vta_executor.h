// Runs streams on an accelerator: addresses are set, and everything is asked that must hold before
// one may run, once, when its launch is added.
#pragma once

#include "runtime/executor.h"
#include "runtime/vta/arena.h"

namespace fettle::runtime {

// The longest that one launch may take, in seconds of the design's clock.
inline constexpr std::uint64_t kVtaLongestRun = 10;

// Buffers are VtaBuffers of the same arena, images VtaImages. Ticks are the accelerator's cycles.
// Adding a launch fails with
//   Malformed   relocations that do not fit their instructions; what vta::verify() and
//               check_determined() refuse, over the program's buffers where they lie; a beginning
//               that would leave the last stream's done flag standing, on cores where it does
//   RunTimeout  it is sure to take longer than a launch may
//   OutOfMemory
class VtaExecutor final : public Executor {
 public:
  VtaExecutor(Accelerator& accelerator, Arena& arena) : accelerator_(accelerator), arena_(arena) {}
  std::unique_ptr<LaunchSeries> make_series() override;

 private:
  Accelerator& accelerator_;
  Arena& arena_;
};

}  // namespace fettle::runtime
