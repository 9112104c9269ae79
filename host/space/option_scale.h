// How near the options of a knob are to one another.
//
// Options that are one number each stand in a row, as they are listed. Options of several numbers
// (a register tile's rows and vectors) stand in as many: the neighbours of one are those in which
// one number is the next larger or the next smaller there is beside the same others. In the list
// of all of them such a neighbour may be far away.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "host/space/knob_value.h"

namespace fettle::space {

class OptionScale {
 public:
  explicit OptionScale(const std::vector<KnobValue>& options);

  // 0: the same option; 1: as far apart as two of them can be. The mean of what their numbers are
  // apart, each by its steps.
  double apart(std::uint32_t a, std::uint32_t b) const;
  // Another option, one or two steps of one number away; where no option has the same others, the
  // nearest in that direction. `from` itself where that is at the end, or the only option.
  std::uint32_t step_from(std::uint32_t from, std::mt19937_64& rng) const;

 private:
  // The nearest option whose `number` is more (or less) than that of `from`.
  std::uint32_t next(std::uint32_t from, std::size_t number, bool more) const;

  // Of each option, of each of its numbers: its place among all values that this number has.
  std::vector<std::vector<std::uint32_t>> places_;
  std::vector<double> last_;         // of each number: the last place, at least 1
  std::vector<std::size_t> moving_;  // the numbers that have several values
};

}  // namespace fettle::space
