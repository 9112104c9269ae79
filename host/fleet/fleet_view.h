// What a broker shows of its fleet to those who watch it: how boards, queues and sessions stand,
// and which trials ended. Texts are of peers, and cut: whoever shows them escapes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/fleet/broker_status.h"
#include "host/fleet/device_state.h"
#include "host/fleet/trial.h"

namespace fettle::fleet {

struct DeviceView {
  std::string name, board_id, hostname, model;  // `name`: of its key in the allow list
  std::string key, device;                      // pool that it works in first, what it is
  std::uint32_t index = 0;                      // among its board's
  bool emulated = false;
  DeviceState state = DeviceState::Free;
  std::uint32_t held = 0, depth = 0;        // trials there, and how many there may be
  std::string reserved_for, reserved_note;  // a client's name; "": it is everybody's
  std::uint64_t reserved_s = 0;             // that are left
  double drift = 0;                         // 0.3: 30 % over its siblings' times; 0: as they
  bool left_out = false;                    // for its drift
};

struct QueueView {
  std::string key;
  std::uint32_t total = 0, free = 0, pending = 0;
};

struct SessionView {
  std::uint64_t number = 0;  // the broker's own
  std::string name, client, key;
  std::size_t unfinished = 0;  // trials
  int priority = 0;
  std::int64_t weight = 0;  // what it has among the others now (scheduler.h)
};

// A trial that has its outcome, which its client may yet refuse: only a session knows a roofline.
struct TrialEnded {
  std::uint64_t session = 0;  // the broker's number
  // Trials of one task expect the same outputs: a number that is made of them. 0: none are
  // expected.
  std::uint64_t task = 0;
  std::string board_id;  // "": it was on none
  std::uint32_t device = 0;
  std::optional<double> value;        // of one run, measured to its end
  const char* unit = "ns";            // of `value`: "ns", or what its device counts
  std::string cause, message;         // of a failure: "Run Crash", and what was observed
  std::optional<double> temperature;  // degrees Celsius, behind the samples
  std::uint64_t busy_ns = 0;          // its device was at work on it
  TimePoint ended;
};

struct FleetView {
  TimePoint now;
  BrokerStatus status;
  std::vector<DeviceView> devices;
  std::vector<QueueView> queues;
  std::vector<SessionView> sessions;
  std::vector<TrialEnded> ended;   // since the last view
  std::uint64_t ended_unseen = 0;  // more that ended since then, too many to tell of each
};

// Both are called by the broker's loop, which waits for nobody: they return at once.
class FleetWatcher {
 public:
  virtual ~FleetWatcher() = default;
  // Whether somebody looks now: then it is told several times a second, else once.
  virtual bool looks() const = 0;
  virtual void see(FleetView view) = 0;
};

}  // namespace fettle::fleet
