// What a client is told of the fleet (`fettle devices`): boards, who has them, sessions.
#include <algorithm>

#include "host/fleet/broker_core.h"
#include "host/fleet/build_key.h"
#include "host/fleet/pool.h"

namespace fettle::fleet {

// Whose sessions wait for what, and how they stand.
std::vector<wire::SessionStatusT> BrokerCore::session_statuses() const {
  std::vector<wire::SessionStatusT> all;
  for (const auto& [id, client] : clients_) {
    for (const auto& [number, session] : client.sessions) {
      const Scheduler::ShareStatus share = scheduler_.share_of(session.device_key, session.key);
      wire::SessionStatusT& status = all.emplace_back();
      status.name = session.name;
      status.client = client.who.name;
      status.device_key = session.device_key;
      status.priority = session.priority;
      status.passed_over = share.passed_over;
      status.running = share.active;
      status.waiting = static_cast<std::uint32_t>(share.waiting);
    }
  }
  return all;
}

wire::BoardStandingT BrokerCore::standing(const Agent& agent, std::uint32_t index, TimePoint now,
                                          const std::string& asks) const {
  wire::BoardStandingT out;
  out.name = agent.who.name;
  out.drift = builds(agent) ? 0 : drift_.of({agent.board.id, index});
  out.left_out = left_out(agent, index);
  const Reservation* there = builds(agent) ? nullptr : reservations_.of(agent.board.id);
  if (there == nullptr) return out;
  out.reserved_for = there->who.name;
  out.reserved_seconds = static_cast<std::uint64_t>(there->left(now).count());
  out.reserved_note = there->note;
  out.yours = there->who.public_key == asks;
  return out;
}

// A key of builders waits for as many as are wanted beyond those that are busy, and is listed also
// where there are none: by that a farm knows how many to start (host/farm/broker_queue.h).
wire::DeviceListT BrokerCore::device_list(TimePoint now, const std::string& asks) const {
  wire::DeviceListT list;
  auto keys = scheduler_.status();
  for (const BuildQueue& queue : build_queues()) {
    keys[build_key(queue.version)].pending = queue.wanted() - std::min(queue.wanted(), queue.busy);
  }
  for (const auto& [key, status] : keys) {
    auto entry = std::make_unique<wire::DeviceStatusT>();
    entry->key = key;
    entry->total = status.total;
    entry->free = status.free;
    entry->pending = status.pending;
    for (const auto& [id, agent] : agents_) {
      if (agent.peer.empty()) continue;
      for (const auto& device : agent.devices) {
        if (!works_in(device, key)) continue;
        entry->boards.push_back(std::make_unique<wire::BoardT>(agent.board));
        entry->devices.push_back(std::make_unique<wire::DeviceInfoT>(device));
        entry->standings.push_back(
            std::make_unique<wire::BoardStandingT>(standing(agent, device.index, now, asks)));
      }
    }
    list.keys.push_back(std::move(entry));
  }
  for (wire::SessionStatusT& session : session_statuses()) {
    list.sessions.push_back(std::make_unique<wire::SessionStatusT>(std::move(session)));
  }
  return list;
}

}  // namespace fettle::fleet
