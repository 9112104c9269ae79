// What the broker makes of boards that drift: it names them, and leaves them out where it should.
#include <cmath>

#include "host/fleet/broker_core.h"
#include "host/fleet/pool.h"
#include "schemas/wire/clock_domain.h"
#include "schemas/wire/content_hash.h"

namespace fettle::fleet {
namespace {

std::string share_text(double share) {
  return std::to_string(std::lround(100 * std::abs(share))) + " % " +
         (share > 0 ? "slower" : "faster");
}

}  // namespace

// Of a trial that named its board.
void BrokerCore::note_reading(const Agent& agent, std::uint32_t index, const Trial& trial,
                              const wire::OutcomeT& outcome, TimePoint now) {
  const auto* measured = outcome.body.AsMeasurement();
  if (trial.board_id.empty() || trial.build || measured == nullptr || measured->censored) return;
  const auto time =
      ticks_to_nanoseconds(measured->median, measured->clock, measured->ticks_per_second);
  if (!time) return;
  for (const auto& device : agent.devices) {
    if (device.index != index || device.emulated) continue;
    const DevicePlace place{agent.board.id, index};
    const Drift::Change change =
        drift_.add(pool_of(device.key, device), content_hash(*trial.request), place, *time, now);
    if (change == Drift::Change::None) return;
    const bool named = change == Drift::Change::Named;
    tell_drift(agent.who, place, named,
               named ? share_text(drift_.of(place)) + " than its siblings in " +
                           std::to_string(Drift::kReadings) + " readings in a row"
                     : "as fast as its siblings again",
               now);
    return;
  }
}

void BrokerCore::tell_drift(const Permission& who, const DevicePlace& place, bool named,
                            const std::string& text, TimePoint now) {
  tell(named ? BrokerEventKind::BoardDrifts : BrokerEventKind::BoardSteady, who,
       "board '" + who.name + "', device " + std::to_string(place.device) + ": " + text +
           (named && leave_out_ ? "; it is left out" : ""))
      .board_id = place.board_id;
  if (leave_out_) reopen_board(place.board_id, now);
}

void BrokerCore::forget_old_drift(TimePoint now) {
  for (const DevicePlace& place : drift_.take_forgotten(now)) {
    Permission who;
    for (const auto& [id, agent] : agents_) {
      if (agent.board.id == place.board_id && !builds(agent)) who = agent.who;
    }
    tell_drift(who, place, false, "not read for long, its drift is forgotten", now);
  }
}

bool BrokerCore::left_out(const Agent& agent, std::uint32_t index) const {
  return leave_out_ && !builds(agent) && drift_.of({agent.board.id, index}) != 0;
}

}  // namespace fettle::fleet
