// Which waiting trial a free device gets next. Pure: no clock, no sockets.
//
// Devices offer credits (places in their queue) under each of their keys; trials wait for one key,
// for any board of a kind or for one of them. A device may be for the trials of one client's key
// alone, or for those alone that name its board: to the others it is not there.
//
// Among the sessions that wait for a device, the one of the highest weight goes first:
//
//   weight = priority + passed_over
//
// passed_over: how many turns of devices that it waited for sessions of higher priority got since
// its own last one. With kMostPassedOver of these it goes before all that have fewer, whatever
// their priority. So of two sessions that always have trials waiting, the one of d more priority
// gets min(d + 1, kMostPassedOver) turns for each of the other's, and no session waits longer than
// kMostPassedOver turns of higher ones, and one of each other session that waits as long.
//
// Of equal weights the higher priority goes first; of one priority the session with the fewest
// trials on devices of the key, so that one that comes late has its share at once; of equals the
// one that waited for the most turns of any, then the one served longest ago. Within a session
// trials keep their order; one that comes back from a lost board goes to the front.
//
// Invariant between calls: no trial waits that a device with a credit could take.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/fleet/trial.h"

namespace fettle::fleet {

struct Placement {
  TrialPtr trial;
  DeviceId device;
};

// Whose trials a device takes.
struct DeviceAccess {
  std::string only_of;      // this client's public key; "": of all
  bool named_only = false;  // those that name its board
  std::string kind;         // device_kind.h; "": what is made for any
  bool free_for_all() const { return only_of.empty() && !named_only; }
};

class Scheduler {
 public:
  static constexpr std::uint32_t kMostPassedOver = 16;

  // What became placed is returned and has used its credit already.
  // `keys`: those it answers to, its own first. `used`: credits that are in use from before.
  std::vector<Placement> add_device(DeviceId device, std::vector<std::string> keys,
                                    const std::string& board_id, std::uint32_t credits,
                                    std::uint32_t used = 0, DeviceAccess access = {});
  // Its trials are still to be given back.
  void remove_device(DeviceId device);
  std::optional<Placement> enqueue(TrialPtr trial, bool front = false);
  // A request of `session` left the device (which may be gone): its credit is
  // free again, and so is the session's share.
  std::optional<Placement> give_back(DeviceId device, const std::string& key,
                                     const SessionKey& session);
  // False: the trial was not waiting.
  bool remove(const TrialPtr& trial);
  void forget_session(const SessionKey& session);  // its waiting trials too

  struct KeyStatus {
    std::uint32_t total = 0, free = 0, pending = 0;
    std::uint32_t held = 0;  // requests that its devices have
  };
  // A device counts under its own key, and under another of its keys only where trials
  // wait for that.
  std::map<std::string, KeyStatus> status() const;
  std::uint32_t devices_of(const std::string& key) const;
  // Those that take trials of that client's key and of that kind ("": of any) which name no board.
  std::uint32_t devices_for(const std::string& key, const std::string& client_key,
                            const std::string& kind) const;
  // Whether there is one that takes trials of that client's key, if they name its board.
  bool reaches(const std::string& key, const std::string& client_key) const;
  // One that takes those of that client's key which name it.
  bool has_board(const std::string& key, const std::string& board_id,
                 const std::string& client_key) const;
  // How a session stands among those that share the devices of a key.
  struct ShareStatus {
    std::uint32_t active = 0, passed_over = 0;
    std::size_t waiting = 0;
  };
  ShareStatus share_of(const std::string& key, const SessionKey& session) const;
  // Waiting trials, in no particular order; for time limits.
  std::vector<TrialPtr> waiting() const;
  bool knows(DeviceId device) const { return devices_.count(device) != 0; }
  std::uint32_t in_use(DeviceId device) const;

 private:
  struct Device {
    std::vector<std::string> keys;
    std::string board_id;
    std::uint32_t credits = 0, used = 0;
    std::uint64_t last_use = 0;
    DeviceAccess access;
    bool takes(const std::string& client_key, const std::string& board,
               const std::string& kind) const;
  };
  // Waiting trials of one session for one key; "" holds those that any board may take.
  struct Share {
    int priority = 0;
    std::uint32_t active = 0;  // trials on devices now
    std::uint64_t last_served = 0;
    std::uint32_t passed_over = 0;  // since then, by sessions of higher priority
    std::uint64_t waited = 0;       // since then: turns of any session
    std::string client_key;         // whose session it is
    std::int64_t weight() const { return std::int64_t{priority} + passed_over; }
    bool goes_before(const Share& other) const;
    std::map<std::string, std::deque<TrialPtr>> by_board;
    std::size_t waiting = 0;
  };
  struct Key {
    std::set<DeviceId> devices;
    std::size_t kept = 0;  // of these: not free for all
    // Devices with a credit: the least loaded, then the longest unused first.
    std::set<std::tuple<std::uint32_t, std::uint64_t, DeviceId>> open;
    std::map<SessionKey, Share> shares;
    std::size_t waiting = 0;
  };

  void forget_if_empty(const std::string& key);
  void open_up(DeviceId id, const Device& device);
  void close_down(DeviceId id, const Device& device);
  std::optional<Placement> fill(DeviceId id);
  Placement place(TrialPtr trial, DeviceId id);

  std::map<std::string, Key> keys_;
  std::map<DeviceId, Device> devices_;
  std::uint64_t ticket_ = 0;
};

}  // namespace fettle::fleet
