// core_gauge (core_gauge.h).
#include "tests/bench/neighbours/core_gauge.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace fettle::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTurns = 3;                              // an interrupt spoils one of them
constexpr int kWideRounds = 3000, kChainRounds = 750;  // some 3 µs each

// Two instructions of one cycle each, the second of which needs the first's result. The empty
// statement keeps the value in a register, and the compiler from knowing it.
[[gnu::always_inline]] inline void step(std::uint32_t& value) {
  value ^= 0x55;
  asm volatile("" : "+r"(value));
  value += 3;
  asm volatile("" : "+r"(value));
}

// Six chains of two: three cycles where four are issued in each.
Clock::duration time_wide() {
  std::uint32_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
  const auto start = Clock::now();
  for (int i = 0; i < kWideRounds; ++i) {
    step(a), step(b), step(c), step(d), step(e), step(f);
  }
  return Clock::now() - start;
}

// The same twelve in one chain: twelve cycles.
Clock::duration time_chain() {
  std::uint32_t a = 1;
  const auto start = Clock::now();
  for (int i = 0; i < kChainRounds; ++i) {
    step(a), step(a), step(a), step(a), step(a), step(a);
  }
  return Clock::now() - start;
}

}  // namespace

double core_gauge() {
  auto wide = Clock::duration::max(), chain = Clock::duration::max();
  for (int turn = 0; turn < kTurns; ++turn) {
    wide = std::min(wide, time_wide());
    chain = std::min(chain, time_chain());
  }
  return static_cast<double>(wide.count()) /
         static_cast<double>(std::max<std::int64_t>(chain.count(), 1));
}

}  // namespace fettle::bench
