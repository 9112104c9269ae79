// Pins and bindings of boards (board_claims.h).
#include "host/fleet/board_claims.h"

#include <algorithm>

namespace fettle::fleet {
namespace {

bool lists(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Named, or any by choice.
bool allows_board(const Permission& entry, const std::string& board) {
  return lists(entry.boards, "*") || lists(entry.boards, board);
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "'" : ", '") + word + "'";
  return all;
}

std::string allow_with(const Permission& who, const std::string& options) {
  return "`fettle keys allow " + who.name + " '" + who.public_key + "' --role agent" + options +
         "`";
}

Error held_by(const Permission& other, const Permission& who, const std::string& board) {
  return {ErrorCode::Unauthorized,
          "the board id '" + board + "' is that of the key '" + other.name + "', not of '" +
              who.name + "'. If it is one board with two keys: " +
              allow_with(who, " --board " + board) + ", and the same for '" + other.name + "'"};
}

}  // namespace

bool names_board(const Permission& entry, const std::string& board) {
  return board != "*" && lists(entry.boards, board);
}

void BoardClaims::set_entries(const std::vector<Permission>& entries) {
  naming_.clear();
  for (const Permission& entry : entries) {
    if (!entry.boards.empty()) naming_.push_back(entry);
  }
}

Result<void> BoardClaims::check(const Permission& who, const std::string& board,
                                const std::vector<std::string>& keys,
                                const std::vector<Permission>& others) const {
  if (!who.device_keys.empty() && !lists(who.device_keys, "*")) {
    std::string wanted;
    for (const std::string& key : keys) wanted += " --device-key '" + key + "'";
    for (const std::string& key : keys) {
      if (lists(who.device_keys, key)) continue;
      return Error{ErrorCode::Unauthorized,
                   "the key '" + who.name + "' is not allowed the device key '" + key + "', only " +
                       joined(who.device_keys) + ": " + allow_with(who, wanted) +
                       " allows all that this board says"};
    }
  }
  if (!who.boards.empty() && !allows_board(who, board)) {
    return Error{ErrorCode::Unauthorized, "the key '" + who.name +
                                              "' is not allowed the board id '" + board +
                                              "', only " + joined(who.boards) + ": " +
                                              allow_with(who, " --board " + board) + " allows it"};
  }
  if (const auto pin = pins_.find(who.public_key);
      who.boards.empty() && pin != pins_.end() && pin->second.board != board) {
    return Error{ErrorCode::Unauthorized, "the key '" + who.name + "' came as board '" +
                                              pin->second.board + "' and now says that it is '" +
                                              board + "': if it moved to that board, " +
                                              allow_with(who, " --board " + board)};
  }
  const auto refuses = [&](const Permission& other) {
    if (other.public_key == who.public_key) return false;
    if (names_board(who, board) && !names_board(other, board)) return false;
    return !allows_board(who, board) || !allows_board(other, board);
  };
  for (const Permission& other : naming_) {
    if (names_board(other, board) && refuses(other)) return held_by(other, who, board);
  }
  for (const auto& [key, pin] : pins_) {
    if (pin.board == board && refuses(pin.who)) return held_by(pin.who, who, board);
  }
  for (const Permission& other : others) {
    if (refuses(other)) return held_by(other, who, board);
  }
  return {};
}

std::vector<std::string> BoardClaims::claim(const Permission& who, const std::string& board) {
  std::vector<std::string> gone;
  if (names_board(who, board)) {
    std::erase_if(pins_, [&](const auto& entry) {
      if (entry.second.board != board || entry.first == who.public_key) return false;
      gone.push_back(entry.first);
      return true;
    });
  }
  if (who.boards.empty()) pins_[who.public_key] = {who, board};
  return gone;
}

}  // namespace fettle::fleet
