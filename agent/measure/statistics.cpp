// Median and interval (statistics.h).
#include "agent/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace fettle::agent {
namespace {

// Largest k (1-based) so that [x_k, x_{n+1-k}] covers the median with >= 95 %:
// P(Binomial(n, 1/2) < k) <= 0.025.
std::size_t interval_rank(std::size_t n) {
  double term = std::pow(0.5, static_cast<double>(n)), below = 0;
  std::size_t k = 0;
  for (std::size_t i = 0; i < n; ++i) {
    below += term;
    if (below > 0.025) break;
    k = i + 1;
    term *= static_cast<double>(n - i) / static_cast<double>(i + 1);
  }
  return k;
}

}  // namespace

MedianInterval median_interval(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  MedianInterval out;
  out.median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  if (n == 1) {
    out.high = std::numeric_limits<double>::infinity();
    return out;
  }
  // Above some thousands 0.5^n underflows; the normal approximation is exact enough by then.
  const std::size_t rank =
      n < 6 ? 0
      : n <= 1000
          ? interval_rank(n)
          : static_cast<std::size_t>(static_cast<double>(n) / 2 - 0.98 * std::sqrt(double(n)));
  if (rank > 0) {
    out.low = sorted[rank - 1];
    out.high = sorted[n - rank];
    return out;
  }
  double mean = 0, squares = 0;
  for (double value : sorted) mean += value / static_cast<double>(n);
  for (double value : sorted) squares += (value - mean) * (value - mean);
  static constexpr double kStudent[] = {0, 0, 12.706, 4.303, 3.182, 2.776};
  const double deviation = std::sqrt(squares / static_cast<double>(n - 1));
  const double half = kStudent[n] * 1.2533 * deviation / std::sqrt(static_cast<double>(n));
  out.low = std::max(0.0, out.median - half);
  out.high = out.median + half;
  return out;
}

}  // namespace fettle::agent
