// What the generator of random streams draws from, and the parts of on-chip memories to which it
// keeps (vta_random.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace fettle::testing {

// The same numbers everywhere: distributions of the standard library differ.
class VtaDice {
 public:
  explicit VtaDice(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t operator()() { return engine_(); }
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + below(high - low + 1);
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

// Entries of a memory.
struct VtaRange {
  std::uint32_t first = 0, end = 0;
};

// Part of an on-chip memory. When each entry was last written by its one writing unit, and read by
// its one reading unit, in their times.
struct VtaWindow {
  std::uint32_t first = 0, count = 0;
  std::vector<std::size_t> written, read;

  // Of `times`, one of the above.
  std::size_t latest(const std::vector<std::size_t>& times, VtaRange range) const {
    return *std::max_element(times.begin() + (range.first - first),
                             times.begin() + (range.end - first));
  }
  void set(std::vector<std::size_t>& times, VtaRange range, std::size_t time) const {
    std::fill(times.begin() + (range.first - first), times.begin() + (range.end - first), time);
  }
};

}  // namespace fettle::testing
