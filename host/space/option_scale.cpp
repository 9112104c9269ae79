// Options by the places of their numbers (option_scale.h).
#include "host/space/option_scale.h"

#include <algorithm>
#include <cmath>

namespace fettle::space {

OptionScale::OptionScale(const std::vector<KnobValue>& options) {
  const std::size_t numbers = options.empty() ? 0 : options.front().size();
  const bool alike = std::all_of(options.begin(), options.end(),
                                 [&](const KnobValue& option) { return option.size() == numbers; });
  // One number stands for an order that the list knows: 0 is often "all of them", the last one.
  if (numbers < 2 || !alike) {
    for (std::uint32_t i = 0; i < options.size(); ++i) places_.push_back({i});
    last_ = {std::max(1.0, double(options.size()) - 1)};
    if (options.size() > 1) moving_ = {0};
    return;
  }
  places_.assign(options.size(), std::vector<std::uint32_t>(numbers));
  for (std::size_t n = 0; n < numbers; ++n) {
    std::vector<std::int64_t> values;
    for (const KnobValue& option : options) values.push_back(option[n]);
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    for (std::size_t i = 0; i < options.size(); ++i) {
      const auto at = std::lower_bound(values.begin(), values.end(), options[i][n]);
      places_[i][n] = static_cast<std::uint32_t>(at - values.begin());
    }
    last_.push_back(std::max(1.0, double(values.size()) - 1));
    if (values.size() > 1) moving_.push_back(n);
  }
}

double OptionScale::apart(std::uint32_t a, std::uint32_t b) const {
  if (a == b || moving_.empty()) return 0;
  double sum = 0;
  for (const std::size_t n : moving_) {
    sum += std::fabs(double(places_[a][n]) - double(places_[b][n])) / last_[n];
  }
  return sum / double(moving_.size());
}

std::uint32_t OptionScale::next(std::uint32_t from, std::size_t number, bool more) const {
  std::uint32_t nearest = from;
  std::pair<std::uint32_t, std::uint32_t> least;  // steps of the other numbers, of this one
  for (std::uint32_t i = 0; i < places_.size(); ++i) {
    const std::uint32_t here = places_[i][number], there = places_[from][number];
    if (here == there || (here > there) != more) continue;
    std::uint32_t others = 0;
    for (const std::size_t n : moving_) {
      if (n == number) continue;
      others +=
          std::max(places_[i][n], places_[from][n]) - std::min(places_[i][n], places_[from][n]);
    }
    const std::pair steps(others, std::max(here, there) - std::min(here, there));
    if (nearest == from || steps < least) nearest = i, least = steps;
  }
  return nearest;
}

std::uint32_t OptionScale::step_from(std::uint32_t from, std::mt19937_64& rng) const {
  if (moving_.empty()) return from;
  const std::uint64_t draw = rng();
  const std::size_t number = moving_[(draw >> 2) % moving_.size()];
  const bool more = draw & 1, twice = draw & 2;
  const std::uint32_t one = next(from, number, more);
  return twice ? next(one, number, more) : one;
}

}  // namespace fettle::space
