// Boards that are one client key's alone until a time. Pure: no clock of its own.
//
// A board has one reservation at most, and a key kMostOfKey boards. The key that has one may change
// its end and its note, up to kLongest from then on, and end it. Nobody else may, but the broker's
// owner (BrokerCore::set_owner).
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/fleet/allow_list.h"
#include "host/fleet/peer.h"

namespace fettle::fleet {

struct Reservation {
  std::string board_id, board_name;  // board_name: of its key in the allow list
  Permission who;
  std::string note;
  TimePoint until;
  std::chrono::seconds left(TimePoint now) const {
    return std::chrono::ceil<std::chrono::seconds>(std::max(until - now, TimePoint::duration(0)));
  }
};

class Reservations {
 public:
  static constexpr std::chrono::hours kLongest{7 * 24};
  static constexpr std::size_t kMostOfKey = 8;

  const Reservation* of(const std::string& board_id) const;
  // Whose key alone has that board; "": nobody's.
  std::string key_of(const std::string& board_id) const;
  // Reserves, or changes the key's own. InvalidArgument: no such time; Unauthorized: it is
  // another's; TooLarge: the key has too many.
  Result<void> reserve(Reservation wanted, TimePoint now);
  // NotFound: it is not reserved. Unauthorized: not by `who`, and `who` is not the owner.
  Result<Reservation> release(const std::string& board_id, const std::string& board_name,
                              const Permission& who, bool owner, TimePoint now);
  // Takes out those that have ended.
  std::vector<Reservation> take_ended(TimePoint now);
  // Takes out those of keys that are not allowed any more.
  std::vector<Reservation> take_unless(const std::function<bool(const Permission&)>& allowed);
  const std::map<std::string, Reservation>& all() const { return by_board_; }

 private:
  std::map<std::string, Reservation> by_board_;  // by board id
};

// "'pynq-3' is reserved for 'alice' for 1 h 59 min more (paper)".
std::string reservation_text(const Reservation& reservation, TimePoint now);

}  // namespace fettle::fleet
