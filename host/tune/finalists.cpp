// Finalists (finalists.h).
#include "host/tune/finalists.h"

#include <algorithm>
#include <utility>

namespace fettle::tune {

void Finalists::add(const records::TuningRecord& record) {
  if (record.confirmed_nanoseconds) held_.insert(record.session);
  const auto nanoseconds = record.rated_nanoseconds();
  if (most_ == 0 || !nanoseconds || *nanoseconds <= 0) return;
  const auto known = std::find_if(all_.begin(), all_.end(), [&](const Finalist& one) {
    return one.program_hash == record.program_hash;
  });
  std::set<std::string> sessions{record.session};
  if (known != all_.end()) {
    known->sessions.merge(sessions);
    if (known->nanoseconds <= *nanoseconds) return;
    sessions = std::move(known->sessions);
    all_.erase(known);
  }
  const auto place =
      std::upper_bound(all_.begin(), all_.end(), *nanoseconds,
                       [](double time, const Finalist& one) { return time < one.nanoseconds; });
  all_.insert(place, {record.configuration, record.program_hash, record.board_id, *nanoseconds,
                      std::move(sessions), record.confirmed_nanoseconds.has_value()});
  if (all_.size() > most_) all_.pop_back();
}

bool Finalists::decided(const Finalist& one) const {
  return one.confirmed || std::all_of(one.sessions.begin(), one.sessions.end(),
                                      [&](const auto& session) { return held_.contains(session); });
}

}  // namespace fettle::tune
