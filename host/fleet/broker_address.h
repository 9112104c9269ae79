// Where a broker is, and with which keys it is spoken to.
#pragma once

#include <string>

#include "host/fleet/keys.h"

namespace fettle::fleet {

struct BrokerAddress {
  std::string url;         // tcp://host:port
  std::string public_key;  // of the broker
  KeyPair keys;            // this peer's own; must be on the broker's allow list
};

}  // namespace fettle::fleet
