// A broker's queue of builds, asked of it by whoever may see its devices.
#pragma once

#include <string>

#include "host/fleet/broker_address.h"
#include "host/fleet/build_queue.h"
#include "schemas/protocol_generated.h"
#include "schemas/wire/result.h"

namespace fettle::farm {

// Nobody builds with that version and none wants to: all zeros. Its sessions are not told of, but
// that one without a candidate counts as one candidate. Unreachable, Unauthorized.
Result<fleet::BuildQueue> ask_queue(const fleet::BrokerAddress& broker, const std::string& version);

fleet::BuildQueue queue_of(const wire::DeviceListT& list, const std::string& version);

}  // namespace fettle::farm
