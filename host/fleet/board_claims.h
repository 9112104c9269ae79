// Which key may say that it is which board, and serve which device keys.
//
// An entry of the allow list may be bound (`fettle keys allow --device-key, --board`). One that
// is not bound to boards is pinned to the first id that it says, for as long as the broker runs
// (or its state file lives). An id that another key has is that key's: two may share one only
// where both entries allow it. An entry that names an id has it before one that does not.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/fleet/allow_list.h"

namespace fettle::fleet {

class BoardClaims {
 public:
  // Entries of the allow list, as they are now.
  void set_entries(const std::vector<Permission>& entries);

  // Unauthorized, with what would allow it: `who` may not be `board` or serve all of `keys`.
  // `others`: whoever says it is that board now.
  Result<void> check(const Permission& who, const std::string& board,
                     const std::vector<std::string>& keys,
                     const std::vector<Permission>& others) const;
  // After check: it is that board now, and pins of others to an id that `who` names are gone.
  // Gives back the keys whose pins those were.
  std::vector<std::string> claim(const Permission& who, const std::string& board);
  // Of a key that is not allowed any more, or not as it was.
  void forget(const std::string& public_key) { pins_.erase(public_key); }

  struct Pin {
    Permission who;
    std::string board;
  };
  const std::map<std::string, Pin>& pins() const { return pins_; }  // by public key

 private:
  std::vector<Permission> naming_;   // entries that name boards
  std::map<std::string, Pin> pins_;  // one a key at most
};

// The entry names that board; "*" names none.
bool names_board(const Permission& entry, const std::string& board);

}  // namespace fettle::fleet
