// Times in buckets that are 2 % wide: an hour of them takes no more room than a second.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace fettle::bench {

class LatencyHistogram {
 public:
  void add(double nanoseconds) {
    const double place = std::log(std::max(nanoseconds, 1.0)) / std::log(kWidth);
    ++buckets_[std::min(static_cast<std::size_t>(place), buckets_.size() - 1)];
    ++count_;
  }
  void add(const LatencyHistogram& other) {
    for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
  }
  std::uint64_t count() const { return count_; }
  // Milliseconds below which that share of the times is, at the bucket's upper end; 0: none is.
  double quantile_ms(double share) const {
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      below += buckets_[i];
      if (below > 0 && static_cast<double>(below) >= share * static_cast<double>(count_)) {
        return std::pow(kWidth, static_cast<double>(i + 1)) / 1e6;
      }
    }
    return 0;
  }

 private:
  static constexpr double kWidth = 1.02;
  std::array<std::uint64_t, 1500> buckets_{};  // to 8,000 s
  std::uint64_t count_ = 0;
};

}  // namespace fettle::bench
