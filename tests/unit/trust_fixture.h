// What the tests of a broker with hostile peers share.
#pragma once

#include "tests/unit/broker_fixture.h"

namespace fettle::fleet {

class Trust : public BrokerTest {};

inline Permission board_key(const std::string& name, std::vector<std::string> device_keys = {},
                            std::vector<std::string> boards = {}) {
  return {name, wire::Role::Agent, "key-of-" + name, std::move(device_keys), std::move(boards)};
}

}  // namespace fettle::fleet
