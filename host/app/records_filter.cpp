// What a filter asks for, and what there is (records_filter.h).
#include "host/app/records_filter.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/records/queries.h"

namespace fettle::app {
namespace {

constexpr std::size_t kMostNamed = 10;

// The newest sessions, each with its device.
std::string list_of(const std::vector<records::Session>& sessions) {
  std::vector<std::string> names;
  for (auto session = sessions.rbegin(); session != sessions.rend(); ++session) {
    if (names.size() == kMostNamed) {
      names.push_back(fmt::format("and {} older ones", sessions.size() - kMostNamed));
      break;
    }
    names.push_back(session->session +
                    (session->device_key.empty() ? "" : " (" + session->device_key + ")"));
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Result<void> check_filter(const records::Database& database, const records::Filter& filter,
                          const std::string& db) {
  const bool of_device = !filter.device_key.empty(), of_session = !filter.session.empty();
  if (!of_device && !of_session) return {};
  const auto sessions = database.sessions();
  if (!sessions) return sessions.error();
  const bool begun =
      std::any_of(sessions->begin(), sessions->end(), [&](const records::Session& session) {
        return (!of_device || session.device_key == filter.device_key) &&
               (!of_session || session.session == filter.session);
      });
  if (begun) return {};
  const auto counts = records::count(database, filter);
  if (!counts) return counts.error();
  if (counts->trials > 0) return {};

  const auto devices = database.devices();
  if (!devices) return devices.error();
  std::set<std::string> keys;
  for (const records::DeviceRow& device : *devices) keys.insert(device.device_key);
  std::string text = db + " holds nothing";
  if (of_device) text += " of the device \"" + filter.device_key + "\"";
  if (of_session) text += " of the session \"" + filter.session + "\"";
  if (of_device) {
    text += fmt::format("; its devices: {}",
                        keys.empty() ? "none" : fmt::format("{}", fmt::join(keys, ", ")));
  }
  if (of_session) text += "; its sessions: " + list_of(*sessions);
  return Error{ErrorCode::NotFound, text, {}};
}

}  // namespace fettle::app
