// Boards whose times stand apart from their siblings'. Pure.
//
// A reading is the time of a program that was sent to its board by name: calibrations, which every
// session runs, and `fettle devices check`. The very same request is comparable on all devices of a
// pool. With kSiblings other boards that ran it, a reading is apart when it is off the median of
// their latest by more than kApart, either way. A device is named when kReadings in a row of one
// program are apart, and no more when the next one of that program is not, or there was none for
// kForgetIn. What is emulated has no readings: its times are no board's.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/fleet/peer.h"
#include "schemas/wire/content_hash.h"

namespace fettle::fleet {

// A device of a board.
struct DevicePlace {
  std::string board_id;
  std::uint32_t device = 0;
  auto operator<=>(const DevicePlace&) const = default;
};

class Drift {
 public:
  static constexpr double kApart = 0.25;
  static constexpr std::size_t kSiblings = 3;
  static constexpr std::uint32_t kReadings = 3;
  static constexpr std::chrono::hours kForgetIn{7 * 24};
  static constexpr std::size_t kPrograms = 256;  // the longest unused go first
  static constexpr std::size_t kPlaces = 4096;   // of one program

  enum class Change { None, Named, Cleared };
  Change add(const std::string& pool, const wire::Hash& program, const DevicePlace& place,
             double nanoseconds, TimePoint now);
  // 0.3: 30 % over its siblings' median, -0.3: under it. 0: it is not named.
  double of(const DevicePlace& place) const;
  std::size_t named() const { return named_.size(); }
  // Those that are named no more, as nothing was read for so long.
  std::vector<DevicePlace> take_forgotten(TimePoint now);

 private:
  struct Reading {
    double nanoseconds = 0;
    std::uint32_t apart = 0;  // in a row
  };
  struct Program {
    std::map<DevicePlace, Reading> readings;
    TimePoint used;
  };
  using ProgramKey = std::pair<std::string, std::string>;  // pool, hash in hex
  struct Named {
    ProgramKey program;
    double share = 0;
    TimePoint read;
  };
  Program* program_of(const ProgramKey& key, TimePoint now);

  std::map<ProgramKey, Program> programs_;
  std::map<DevicePlace, Named> named_;
};

}  // namespace fettle::fleet
