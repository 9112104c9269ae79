// FleetHistory (fleet_history.h).
#include "host/web/fleet_history.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace fettle::web {
namespace {

constexpr std::size_t kQueuesShown = 64, kSessionsShown = 32;
constexpr std::size_t kPoints = 8192;  // of all curves of a page together
constexpr double kGoneFor = 3600;      // seconds that a device which is gone is shown

double seconds_of(fleet::TimePoint time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

std::string place_of(const std::string& board, std::uint32_t device) {
  return board + "\n" + std::to_string(device);
}

const char* name_of(fleet::DeviceState state) {
  switch (state) {
    case fleet::DeviceState::Free:
      return "free";
    case fleet::DeviceState::Busy:
      return "busy";
    case fleet::DeviceState::Resting:
      return "resting";
    case fleet::DeviceState::Away:
      return "away";
  }
  return "unknown";
}

// Those for which `over` holds, but for the `most` that were seen last.
template <typename Map, typename Over>
void forget_oldest(Map& all, std::size_t most, Over over) {
  std::vector<typename Map::iterator> old;
  for (auto at = all.begin(); at != all.end(); ++at)
    if (over(at->second)) old.push_back(at);
  if (old.size() <= most) return;
  std::sort(old.begin(), old.end(),
            [](const auto& a, const auto& b) { return a->second.last < b->second.last; });
  for (std::size_t i = 0; i + most < old.size(); ++i) all.erase(old[i]);
}

double share(double value) { return std::round(value * 1000) / 1000; }

}  // namespace

void FleetHistory::add(const fleet::FleetView& view) {
  now_ = seconds_of(view.now);
  status_ = view.status;
  queues_ = view.queues;
  for (auto& [place, device] : devices_) device.gone = true;
  more_devices_ = 0;
  std::size_t here = 0;
  for (const fleet::DeviceView& seen : view.devices) {
    const std::string place = place_of(seen.board_id, seen.index);
    const auto known = devices_.find(place);
    if (++here > kDevices) {
      ++more_devices_;
      continue;
    }
    Device& device = devices_[place];
    if (known == devices_.end()) device.since = now_;
    device.seen = seen;
    device.last = now_;
    device.gone = false;
  }
  for (auto& [number, session] : sessions_) session.ended = true;
  more_sessions_ = 0;
  here = 0;
  for (const fleet::SessionView& seen : view.sessions) {
    const auto known = sessions_.find(seen.number);
    if (++here > kSessions) {
      ++more_sessions_;
      continue;
    }
    Session& session = sessions_[seen.number];
    if (known == sessions_.end()) session.since = now_;
    session.seen = seen;
    session.last = now_;
    session.ended = false;
  }
  for (const fleet::TrialEnded& trial : view.ended) add_ended(trial);
  forget_oldest(devices_, kGoneDevices, [](const Device& device) { return device.gone; });
  std::erase_if(devices_, [&](const auto& entry) {
    return entry.second.gone && now_ - entry.second.last > kGoneFor;
  });
  forget_oldest(sessions_, kEndedSessions, [](const Session& session) { return session.ended; });
}

void FleetHistory::add_ended(const fleet::TrialEnded& trial) {
  const double ended = seconds_of(trial.ended);
  const auto session = sessions_.find(trial.session);
  if (session != sessions_.end()) {
    session->second.history.add({trial.task, trial.value, trial.unit, trial.cause, trial.message},
                                std::max(0.0, ended - session->second.since));
  }
  const auto found = devices_.find(place_of(trial.board_id, trial.device));
  if (found == devices_.end()) return;
  Device& device = found->second;
  ++device.trials;
  if (!trial.cause.empty()) ++device.failed;
  if (trial.temperature) device.temperature = trial.temperature;
  device.busy.spent(ended - static_cast<double>(trial.busy_ns) * 1e-9, ended);
}

nlohmann::json FleetHistory::device_json(const Device& device) const {
  const fleet::DeviceView& seen = device.seen;
  nlohmann::json shares = nlohmann::json::array();
  for (double one : device.busy.shares(device.since, now_)) shares.push_back(share(one));
  nlohmann::json out = {{"name", seen.name},
                        {"host", seen.hostname},
                        {"model", seen.model},
                        {"id", seen.board_id},
                        {"key", seen.key},
                        {"device", seen.device},
                        {"index", seen.index},
                        {"state", device.gone ? "gone" : name_of(seen.state)},
                        {"silent_s", device.gone ? std::round(now_ - device.last) : 0},
                        {"held", device.gone ? 0 : seen.held},
                        {"depth", seen.depth},
                        {"trials", device.trials},
                        {"failed", device.failed},
                        {"busy", share(device.busy.last_minute(device.since, now_))},
                        {"shares", std::move(shares)}};
  if (!seen.reserved_for.empty() && !device.gone) {
    out["reserved_for"] = seen.reserved_for;
    out["reserved_note"] = seen.reserved_note;
    out["reserved_s"] = seen.reserved_s;
  }
  if (seen.drift != 0) out["drift"] = share(seen.drift);
  if (seen.left_out) out["left_out"] = true;
  if (device.temperature) out["celsius"] = std::round(*device.temperature * 10) / 10;
  return out;
}

nlohmann::json FleetHistory::page() const {
  nlohmann::json out = {{"kind", "broker"},
                        {"title", status_.endpoint},
                        {"up_s", status_.up_seconds},
                        {"step_s", Recent::kStep},
                        {"boards", nlohmann::json::array()},
                        {"queues", nlohmann::json::array()},
                        {"sessions", nlohmann::json::array()}};
  const auto& counters = status_.counters;
  const std::pair<const char*, std::uint64_t> numbers[] = {
      {"from clients", counters.submitted},
      {"answered", counters.completed},
      {"on boards", status_.leases},
      {"wait for a board", status_.waiting},
      {"given to another board", counters.requeued},
      {"lost with their boards", counters.device_lost},
      {"past their deadline", counters.overdue}};
  out["numbers"] = nlohmann::json::array();
  for (const auto& [name, value] : numbers) {
    out["numbers"].push_back(nlohmann::json::array({name, value}));
  }
  for (const auto& [place, device] : devices_) out["boards"].push_back(device_json(device));
  out["more_boards"] = more_devices_;
  for (const fleet::QueueView& queue : queues_) {
    if (out["queues"].size() == kQueuesShown) break;
    out["queues"].push_back({{"key", queue.key},
                             {"total", queue.total},
                             {"free", queue.free},
                             {"pending", queue.pending}});
  }
  // Those that are open first, of them the newest.
  std::vector<const Session*> shown;
  for (const auto& [number, session] : sessions_) shown.push_back(&session);
  std::stable_sort(shown.begin(), shown.end(), [](const Session* a, const Session* b) {
    return a->ended != b->ended ? b->ended : a->since > b->since;
  });
  out["more_sessions"] = more_sessions_ + shown.size() - std::min(shown.size(), kSessionsShown);
  shown.resize(std::min(shown.size(), kSessionsShown));
  const std::size_t points =
      kPoints / std::max<std::size_t>(1, shown.size() * SessionHistory::kTasks / 4);
  for (const Session* session : shown) {
    nlohmann::json one = {{"id", std::to_string(session->seen.number)},
                          {"name", session->seen.name},
                          {"client", session->seen.client},
                          {"key", session->seen.key},
                          {"priority", session->seen.priority},
                          {"weight", session->seen.weight},
                          {"ended", session->ended},
                          {"seconds", std::round(session->last - session->since)},
                          {"unfinished", session->ended ? 0 : session->seen.unfinished}};
    session->history.write(one, session->last - session->since, std::min(points, BestCurve::kMost));
    out["sessions"].push_back(std::move(one));
  }
  return out;
}

}  // namespace fettle::web
