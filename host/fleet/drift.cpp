// Readings and their medians (drift.h).
#include "host/fleet/drift.h"

#include <algorithm>
#include <cmath>

#include "schemas/wire/median.h"

namespace fettle::fleet {
namespace {}  // namespace

Drift::Program* Drift::program_of(const ProgramKey& key, TimePoint now) {
  if (programs_.size() >= kPrograms && programs_.count(key) == 0) {
    programs_.erase(std::min_element(
        programs_.begin(), programs_.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  }
  Program& program = programs_[key];
  program.used = now;
  return &program;
}

Drift::Change Drift::add(const std::string& pool, const wire::Hash& hash, const DevicePlace& place,
                         double nanoseconds, TimePoint now) {
  if (!std::isfinite(nanoseconds) || nanoseconds <= 0) return Change::None;
  const ProgramKey key(pool, to_hex(hash));
  Program& program = *program_of(key, now);
  if (program.readings.size() >= kPlaces && program.readings.count(place) == 0) return Change::None;
  Reading& mine = program.readings[place];
  mine.nanoseconds = nanoseconds;
  std::vector<double> siblings;  // boards: the first device of each, as the map is in their order
  std::string last;
  for (const auto& [other, reading] : program.readings) {
    if (other.board_id == place.board_id || other.board_id == last) continue;
    siblings.push_back(reading.nanoseconds);
    last = other.board_id;
  }
  if (siblings.size() < kSiblings) return Change::None;
  const double share = nanoseconds / median(std::move(siblings)) - 1;
  mine.apart = std::abs(share) > kApart ? mine.apart + 1 : 0;
  const auto named = named_.find(place);
  if (named == named_.end()) {
    if (mine.apart < kReadings) return Change::None;
    named_[place] = {key, share, now};
    return Change::Named;
  }
  if (named->second.program != key) return Change::None;
  named->second.share = share;
  named->second.read = now;
  if (mine.apart > 0) return Change::None;
  named_.erase(named);
  return Change::Cleared;
}

double Drift::of(const DevicePlace& place) const {
  const auto named = named_.find(place);
  return named == named_.end() ? 0 : named->second.share;
}

std::vector<DevicePlace> Drift::take_forgotten(TimePoint now) {
  std::vector<DevicePlace> forgotten;
  std::erase_if(named_, [&](const auto& entry) {
    if (now - entry.second.read < kForgetIn) return false;
    forgotten.push_back(entry.first);
    return true;
  });
  return forgotten;
}

}  // namespace fettle::fleet
