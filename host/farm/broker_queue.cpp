// The queue's numbers out of the list of devices (broker_queue.h).
#include "host/farm/broker_queue.h"

#include "host/fleet/broker_question.h"
#include "host/fleet/build_key.h"

namespace fettle::farm {

fleet::BuildQueue queue_of(const wire::DeviceListT& list, const std::string& version) {
  fleet::BuildQueue queue;
  queue.version = version;
  for (const auto& status : list.keys) {
    if (status->key != fleet::build_key(version)) continue;
    queue.builders = status->total;
    queue.busy = status->total - std::min(status->total, status->free);
    queue.candidates = queue.busy + status->pending;
  }
  return queue;
}

Result<fleet::BuildQueue> ask_queue(const fleet::BrokerAddress& broker,
                                    const std::string& version) {
  const auto list = fleet::list_devices(broker, std::chrono::seconds(10));
  if (!list) return list.error();
  return queue_of(*list, version);
}

}  // namespace fettle::farm
