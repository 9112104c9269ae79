// For tests: a core that another process wants all of the time, so that what runs there is
// interrupted.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <memory>
#include <thread>

#include "tests/bench/asked_process.h"
#include "tests/bench/kernels/contender.h"

namespace fettle::bench {

class CrowdedCore {
 public:
  // The calling thread is kept there too, and with it what it starts, until it leaves.
  CrowdedCore() {
    sched_getaffinity(0, sizeof before_, &before_);
    while (!CPU_ISSET(core_, &before_)) ++core_;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(core_, &only);
    sched_setaffinity(0, sizeof only, &only);
    auto started = AskedProcess::start("busy", {"sh", "-c", "while :; do :; done"}, {core_});
    EXPECT_TRUE(started.ok());
    if (started) busy_ = std::move(*started);
  }
  ~CrowdedCore() { leave(); }
  CrowdedCore(const CrowdedCore&) = delete;
  CrowdedCore& operator=(const CrowdedCore&) = delete;

  void leave() { sched_setaffinity(0, sizeof before_, &before_); }
  int core() const { return core_; }

 private:
  cpu_set_t before_{};
  int core_ = 0;
  std::unique_ptr<AskedProcess> busy_;
};

// What a contender tells of a second in which this process sleeps.
inline long interruptions_meanwhile(const Contender& contender) {
  const long before = contender.interruptions();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  return contender.interruptions() - before;
}
// Of a second beside a neighbour, on a busy machine too; one that sleeps has hardly any.
inline constexpr long kManyInterruptions = 4;

}  // namespace fettle::bench
