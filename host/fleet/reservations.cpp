// The table of reservations (reservations.h).
#include "host/fleet/reservations.h"

#include "host/fleet/durations.h"
#include "schemas/wire/limits.h"
#include "schemas/wire/printable.h"

namespace fettle::fleet {

const Reservation* Reservations::of(const std::string& board_id) const {
  const auto found = by_board_.find(board_id);
  return found == by_board_.end() ? nullptr : &found->second;
}

std::string Reservations::key_of(const std::string& board_id) const {
  const Reservation* there = of(board_id);
  return there == nullptr ? "" : there->who.public_key;
}

Result<void> Reservations::reserve(Reservation wanted, TimePoint now) {
  if (wanted.until <= now || wanted.until - now > kLongest) {
    return Error{ErrorCode::InvalidArgument, "a board is reserved for a second at least and " +
                                                 duration_text(kLongest) + " at most, from now on"};
  }
  // It is shown to others, in one line.
  if (printable(wanted.note) != wanted.note ||
      wanted.note.find_first_of("\n\t\r") != std::string::npos) {
    return Error{ErrorCode::InvalidArgument, "the note of a reservation is one line of plain text"};
  }
  if (wanted.note.size() > limits::kNoteBytes) {
    return Error{
        ErrorCode::InvalidArgument,
        "the note of a reservation has " + std::to_string(limits::kNoteBytes) + " bytes at most"};
  }
  if (const Reservation* there = of(wanted.board_id)) {
    if (there->who.public_key != wanted.who.public_key) {
      return Error{ErrorCode::Unauthorized, reservation_text(*there, now)};
    }
  } else {
    const auto held = std::count_if(by_board_.begin(), by_board_.end(), [&](const auto& entry) {
      return entry.second.who.public_key == wanted.who.public_key;
    });
    if (static_cast<std::size_t>(held) >= kMostOfKey) {
      return Error{ErrorCode::TooLarge, "the key '" + wanted.who.name + "' has " +
                                            std::to_string(held) +
                                            " boards reserved already, and may have no more"};
    }
  }
  std::string board = wanted.board_id;
  by_board_.insert_or_assign(std::move(board), std::move(wanted));
  return {};
}

Result<Reservation> Reservations::release(const std::string& board_id,
                                          const std::string& board_name, const Permission& who,
                                          bool owner, TimePoint now) {
  const auto found = by_board_.find(board_id);
  if (found == by_board_.end()) {
    return Error{ErrorCode::NotFound, "'" + board_name + "' is not reserved"};
  }
  if (found->second.who.public_key != who.public_key && !owner) {
    return Error{ErrorCode::Unauthorized,
                 reservation_text(found->second, now) +
                     ": only that key, or the broker's owner, releases it"};
  }
  return std::move(by_board_.extract(found).mapped());
}

std::vector<Reservation> Reservations::take_ended(TimePoint now) {
  std::vector<Reservation> ended;
  std::erase_if(by_board_, [&](auto& entry) {
    if (now < entry.second.until) return false;
    ended.push_back(std::move(entry.second));
    return true;
  });
  return ended;
}

std::vector<Reservation> Reservations::take_unless(
    const std::function<bool(const Permission&)>& allowed) {
  std::vector<Reservation> taken;
  std::erase_if(by_board_, [&](auto& entry) {
    if (allowed(entry.second.who)) return false;
    taken.push_back(std::move(entry.second));
    return true;
  });
  return taken;
}

std::string reservation_text(const Reservation& reservation, TimePoint now) {
  std::string text = "'" + reservation.board_name + "' is reserved for '" + reservation.who.name +
                     "' for " + duration_text(reservation.left(now)) + " more";
  if (!reservation.note.empty()) text += " (" + reservation.note + ")";
  return text;
}

}  // namespace fettle::fleet
