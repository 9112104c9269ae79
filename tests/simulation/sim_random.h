// Random numbers of a simulation: the same on every machine, one stream for each that draws, so
// that what one leaves out changes nothing for the others.
#pragma once

#include <chrono>
#include <cstdint>

namespace fettle::fleet::simulation {

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : state_(seed * 0x9e3779b97f4a7c15 ^ stream) {
    next();
  }
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  bool chance(std::uint32_t percent) { return below(100) < percent; }
  std::chrono::milliseconds between(std::int64_t least_ms, std::int64_t most_ms) {
    const auto range = static_cast<std::uint64_t>(most_ms - least_ms + 1);
    return std::chrono::milliseconds(least_ms + static_cast<std::int64_t>(below(range)));
  }

 private:
  std::uint64_t state_;
};

}  // namespace fettle::fleet::simulation
