// `fettle build-worker --broker`: a BuildPool behind a broker, which anyone's session may use.
#pragma once

#include <functional>
#include <string>

#include "host/fleet/broker_address.h"
#include "host/fleet/build_peer_core.h"
#include "host/fleet/build_pool.h"

namespace fettle::fleet {

struct BuildPeerOptions {
  BrokerAddress broker;
  BuildPeerPlan plan;     // `builders` and `where` are taken from the others here
  BuildPoolOptions pool;  // of so many workers
  const tune::StopSignal* stop = nullptr;
  std::function<void(const std::string&)> log;  // one line for people
};

// Until `stop`. Dials the broker again for ever. Errors: the broker refuses this worker; builders
// cannot be started, or end before they build anything.
Result<void> run_build_peer(BuildPeerOptions options);

}  // namespace fettle::fleet
