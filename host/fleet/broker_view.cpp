// The core as others see it (fleet_view.h).
#include <algorithm>

#include "host/fleet/broker_core.h"
#include "host/fleet/build_key.h"
#include "host/fleet/fleet_view.h"
#include "host/fleet/pool.h"
#include "schemas/wire/clock_domain.h"
#include "schemas/wire/printable.h"

namespace fettle::fleet {
namespace {

constexpr std::size_t kMostEnded = 8192;  // between two views
constexpr std::size_t kTextBytes = 200;   // of what a peer calls something

// Cut between characters.
std::string shortened(const std::string& text) {
  if (text.size() <= kTextBytes) return text;
  std::size_t end = kTextBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

// The task that a request is of, by the outputs that it expects.
std::uint64_t task_of(const SharedBytes& request) {
  if (!request) return 0;
  const auto expected = decode_expected(*request);
  if (!expected || expected->empty()) return 0;
  std::uint64_t mark = 0;
  for (const wire::Hash& hash : *expected) {
    std::uint64_t part = 0;
    for (flatbuffers::uoffset_t i = 0; i < sizeof part; ++i) {
      part = part << 8 | hash.bytes()->Get(i);
    }
    mark = mark * 31 + part;
  }
  return mark;
}

}  // namespace

void BrokerCore::note_ended(const Trial& trial, const wire::OutcomeT& outcome,
                            milliseconds on_board, TimePoint now) {
  if (!ended_kept_) return;
  if (ended_.size() >= kMostEnded) {
    ++ended_unseen_;
    return;
  }
  TrialEnded& ended = ended_.emplace_back();
  ended.session = trial.worker_session;
  ended.task = task_of(trial.request);
  ended.board_id = outcome.board_id;
  ended.device = outcome.device_index;
  ended.ended = now;
  if (outcome.times) {
    // An agent's clock may leap.
    ended.busy_ns =
        std::min(outcome.times->total_ns, static_cast<std::uint64_t>(on_board.count()) * 1'000'000);
  }
  if (const auto* measured = outcome.body.AsMeasurement()) {
    if (!measured->censored) {
      const auto time =
          ticks_to_nanoseconds(measured->median, measured->clock, measured->ticks_per_second);
      ended.value = time.value_or(measured->median);
      if (!time) ended.unit = clock_facts(measured->clock).unit;
    }
    if (measured->after && measured->after->temperature_millidegrees != 0) {
      ended.temperature = measured->after->temperature_millidegrees / 1000.0;
    }
  } else if (const auto* failure = outcome.body.AsFailure()) {
    ended.cause = name_of(failure->stage);
    if (failure->error) {
      ended.cause += std::string(" ") + name_of(failure->error->code);
      ended.message = shortened(failure->error->message);
    }
  }
}

DeviceState BrokerCore::state_of(const Agent& agent, std::uint32_t index, TimePoint now) const {
  if (agent.peer.empty()) return DeviceState::Away;
  if (standings_.rests({agent.who.public_key, agent.board.id, index}, now))
    return DeviceState::Resting;
  return leases_.count({agent.id, index}) > 0 ? DeviceState::Busy : DeviceState::Free;
}

BoardStates BrokerCore::board_states(TimePoint now) const {
  BoardStates states{};
  for (const auto& [id, agent] : agents_) {
    if (builds(agent)) continue;
    for (const auto& device : agent.devices)
      ++states[static_cast<std::size_t>(state_of(agent, device.index, now))];
  }
  return states;
}

std::map<std::string, std::uint32_t> BrokerCore::sessions_by_key() const {
  std::map<std::string, std::uint32_t> sessions;
  for (const auto& [id, client] : clients_)
    for (const auto& [number, session] : client.sessions) ++sessions[session.device_key];
  return sessions;
}

std::vector<BuildQueue> BrokerCore::build_queues() const {
  std::map<std::string, BuildQueue> queues;
  for (const auto& [key, status] : scheduler_.status()) {
    if (!is_build_key(key)) continue;
    queues[key] = {version_of(key), status.total, status.total - status.free,
                   status.held + status.pending, 0};
  }
  for (const auto& [key, sessions] : sessions_by_key()) {
    if (!is_build_key(key)) continue;
    BuildQueue& queue = queues[key];
    queue.version = version_of(key);
    queue.sessions = sessions;
  }
  std::vector<BuildQueue> all;
  for (auto& [key, queue] : queues) all.push_back(std::move(queue));
  return all;
}

FleetView BrokerCore::view(TimePoint now) {
  FleetView view;
  view.now = now;
  for (const auto& [id, agent] : agents_) {
    for (const auto& device : agent.devices) {
      const DeviceId where{id, device.index};
      DeviceView& seen = view.devices.emplace_back();
      seen.name = shortened(agent.who.name);
      seen.board_id = shortened(agent.board.id);
      seen.hostname = shortened(agent.board.hostname);
      seen.model = shortened(agent.board.model);
      seen.key = shortened(pool_of(device.key, device));
      seen.device = shortened(device.name);
      seen.index = device.index;
      seen.emulated = device.emulated;
      seen.held = leases_.count(where);
      seen.depth = device.queue_depth;
      seen.state = state_of(agent, device.index, now);
      const wire::BoardStandingT stands = standing(agent, device.index, now, "");
      seen.reserved_for = shortened(stands.reserved_for);
      seen.reserved_note = shortened(stands.reserved_note);
      seen.reserved_s = stands.reserved_seconds;
      seen.drift = stands.drift;
      seen.left_out = stands.left_out;
    }
  }
  for (const auto& [key, status] : scheduler_.status()) {
    view.queues.push_back({shortened(key), status.total, status.free, status.pending});
  }
  for (const auto& [id, client] : clients_) {
    for (const auto& [number, session] : client.sessions) {
      view.sessions.push_back(
          {session.number, shortened(session.name), shortened(client.who.name),
           shortened(session.device_key), session.trials.size(), session.priority,
           session.priority +
               std::int64_t{scheduler_.share_of(session.device_key, session.key).passed_over}});
    }
  }
  view.ended = std::exchange(ended_, {});
  view.ended_unseen = std::exchange(ended_unseen_, 0);
  return view;
}

}  // namespace fettle::fleet
