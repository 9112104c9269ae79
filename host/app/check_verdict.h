// Judging the boards that `fettle devices check` ran. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schemas/device_generated.h"

namespace fettle::app {

// One device of a board, and what its check came to.
struct CheckedDevice {
  std::string name, board_id, hostname, key, device;  // key: its pool
  std::uint32_t index = 0;
  std::string kernel, kernel_id;  // "": none was run
  std::optional<double> ticks;    // median of a run
  std::string unit = "ns";        // of `ticks`
  bool time_of_a_board = false;   // nanoseconds of a board that is not emulated: compared
  std::vector<double> before;     // ns of the last checks, the oldest first
  std::string failure;            // it ran and failed, or gave no answer: bad
  std::string skipped;            // it was not run, which is not its fault
  // Of judge():
  std::optional<double> siblings, last;  // ratio to their median: 1.3 is 30 % slower
  std::string verdict;                   // "ok", or what is wrong or was not done
  bool bad = false;
};

inline constexpr std::size_t kSiblings = 3;    // fewer are compared with nothing
inline constexpr std::size_t kLastChecks = 7;  // that count, of at least kSiblings

// Siblings: other devices of the same pool that ran the same kernel. Bad: what failed; a time that
// is over or under its siblings' median by more than `apart`, or over that of its last checks.
void judge(std::vector<CheckedDevice>& devices, double apart);

}  // namespace fettle::app
