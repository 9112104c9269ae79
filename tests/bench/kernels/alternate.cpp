// Taking turns (alternate.h).
#include "tests/bench/kernels/alternate.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace fettle::bench {
namespace {

constexpr std::uint32_t kWarmUps = 2;
constexpr int kRetakes = 4;  // of a sample that something else interrupted

double now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Nanoseconds per run.
Result<double> sample(Contender& contender, std::uint32_t runs) {
  const double start = now_ns();
  if (auto done = contender.run(runs); !done) return std::move(done).error();
  const double own = contender.device_nanoseconds();
  return (own > 0 ? own : now_ns() - start) / runs;
}

// The first sample that nothing interrupted; after kRetakes the fastest one, as an
// interruption only costs time.
Result<double> clean_sample(Contender& contender, std::uint32_t runs, Timing& timing) {
  double least = INFINITY;
  for (int attempt = 0; attempt <= kRetakes; ++attempt) {
    const long before = contender.interruptions();
    auto one = sample(contender, runs);
    if (!one) return one;
    least = std::min(least, *one);
    if (attempt == 0) timing.firsts.push_back(*one);
    if (contender.interruptions() == before) return one;
    ++timing.disturbed;
  }
  return least;
}

// Runs that take `sample_ms`, from the fastest of a few.
Result<std::uint32_t> runs_for(Contender& contender, double sample_ms) {
  double least = INFINITY;
  for (int i = 0; i < 4; ++i) {
    auto one = sample(contender, 1);
    if (!one) return std::move(one).error();
    least = std::min(least, *one);
  }
  return static_cast<std::uint32_t>(std::clamp(sample_ms * 1e6 / std::max(least, 1.0), 1.0, 1e6));
}

}  // namespace

double Timing::median() const {
  std::vector<double> sorted = nanoseconds;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

double Timing::least() const { return *std::min_element(firsts.begin(), firsts.end()); }

Result<std::vector<Timing>> alternate(std::span<Contender* const> contenders,
                                      const AlternateOptions& options) {
  std::vector<std::uint32_t> runs;
  for (Contender* contender : contenders) {
    auto wanted = runs_for(*contender, options.sample_ms);
    if (!wanted) return std::move(wanted).error();
    runs.push_back(*wanted);
  }
  std::vector<Timing> timings(contenders.size());
  for (unsigned round = 0; round < std::max(options.rounds, 1u); ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      if (options.pause_ms > 0) {
        std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(options.pause_ms));
      }
      if (auto warm = contenders[i]->run(kWarmUps); !warm) return std::move(warm).error();
      auto one = clean_sample(*contenders[i], runs[i], timings[i]);
      if (!one) return std::move(one).error();
      timings[i].nanoseconds.push_back(*one);
    }
  }
  return timings;
}

}  // namespace fettle::bench
