// Texts and JSON of standings (board_standing.h).
#include "host/app/board_standing.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "host/app/message.h"
#include "host/fleet/durations.h"
#include "host/records/table.h"

namespace fettle::app {
namespace {

// What the broker compares (host/fleet/scheduler.h).
std::int64_t weight_of(const wire::SessionStatusT& session) {
  return std::int64_t{session.priority} + session.passed_over;
}

}  // namespace

const wire::BoardStandingT* standing_of(const wire::DeviceStatusT& key, std::size_t i) {
  return i < key.standings.size() ? key.standings[i].get() : nullptr;
}

std::string standing_text(const wire::BoardStandingT& standing) {
  std::string text;
  if (!standing.reserved_for.empty()) {
    const auto seconds = std::min<std::uint64_t>(standing.reserved_seconds, 1u << 30);
    text =
        fmt::format("reserved for {}, {} more{}", standing.yours ? "you" : standing.reserved_for,
                    fleet::duration_text(std::chrono::seconds(static_cast<std::int64_t>(seconds))),
                    standing.reserved_note.empty() ? "" : " (" + standing.reserved_note + ")");
  }
  if (standing.drift != 0) {
    text += fmt::format("{}{:.0f} % {} than its siblings{}", text.empty() ? "" : "; ",
                        100 * std::abs(standing.drift), standing.drift > 0 ? "slower" : "faster",
                        standing.left_out ? ", left out" : "");
  }
  return text;
}

nlohmann::json standing_json(const wire::BoardStandingT& standing) {
  nlohmann::json out = {{"name", standing.name},
                        {"drift", standing.drift},
                        {"left_out", standing.left_out},
                        {"reserved", nullptr}};
  if (!standing.reserved_for.empty()) {
    out["reserved"] = {{"for", standing.reserved_for},
                       {"seconds", standing.reserved_seconds},
                       {"note", standing.reserved_note},
                       {"yours", standing.yours}};
  }
  return out;
}

nlohmann::json sessions_json(const wire::DeviceListT& list, const std::string& key) {
  nlohmann::json out = nlohmann::json::array();
  for (const auto& session : list.sessions) {
    if (session->device_key != key) continue;
    out.push_back({{"name", session->name},
                   {"client", session->client},
                   {"priority", session->priority},
                   {"weight", weight_of(*session)},
                   {"running", session->running},
                   {"waiting", session->waiting}});
  }
  return out;
}

void print_sessions(const wire::DeviceListT& list) {
  if (list.sessions.empty()) return;
  records::Table table({{"session"},
                        {"client"},
                        {"key"},
                        {"priority", records::Align::Right},
                        {"weight", records::Align::Right},
                        {"on boards", records::Align::Right},
                        {"waiting", records::Align::Right}});
  for (const auto& session : list.sessions) {
    table.row({session->name, session->client, session->device_key,
               std::to_string(session->priority), std::to_string(weight_of(*session)),
               std::to_string(session->running), std::to_string(session->waiting)});
  }
  print("\n");
  std::cout.flush();
  table.print(std::cout);
  std::cout.flush();
}

}  // namespace fettle::app
