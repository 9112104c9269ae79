// A broker's fleet over time, made of one view after another (host/fleet/fleet_view.h): what the
// live page shows of it.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "host/fleet/fleet_view.h"
#include "host/web/recent.h"
#include "host/web/session_history.h"

namespace fettle::web {

class FleetHistory {
 public:
  // Of more devices and sessions only how many there are. Those that are gone stay for a while,
  // the last ones.
  static constexpr std::size_t kDevices = 512, kGoneDevices = 64;
  static constexpr std::size_t kSessions = 256, kEndedSessions = 8;

  void add(const fleet::FleetView& view);
  // The page's data (live.js) as of the last view.
  nlohmann::json page() const;

 private:
  struct Device {
    fleet::DeviceView seen;
    double since = 0, last = 0;  // seconds of the broker's clock: first and last view of it
    bool gone = false;
    std::optional<double> temperature;
    std::uint64_t trials = 0, failed = 0;
    Recent busy;
  };
  struct Session {
    fleet::SessionView seen;
    double since = 0, last = 0;
    bool ended = false;
    SessionHistory history;
  };
  void add_ended(const fleet::TrialEnded& trial);
  nlohmann::json device_json(const Device& device) const;

  double now_ = 0;
  fleet::BrokerStatus status_;
  std::map<std::string, Device> devices_;  // by board and number
  std::map<std::uint64_t, Session> sessions_;
  std::vector<fleet::QueueView> queues_;
  std::size_t more_devices_ = 0, more_sessions_ = 0;
};

}  // namespace fettle::web
