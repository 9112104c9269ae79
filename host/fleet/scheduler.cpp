// Priorities, fair share and credits (scheduler.h).
#include "host/fleet/scheduler.h"

#include <algorithm>
#include <tuple>

namespace fettle::fleet {

bool Scheduler::Share::goes_before(const Share& other) const {
  const bool due = passed_over >= kMostPassedOver, other_due = other.passed_over >= kMostPassedOver;
  if (due != other_due) return due;
  if (due && passed_over != other.passed_over) return passed_over > other.passed_over;
  if (weight() != other.weight()) return weight() > other.weight();
  if (priority != other.priority) return priority > other.priority;
  return std::tuple(active, other.waited, last_served) <
         std::tuple(other.active, waited, other.last_served);
}

bool Scheduler::Device::takes(const std::string& client_key, const std::string& board,
                              const std::string& kind) const {
  if (!access.only_of.empty() && access.only_of != client_key) return false;
  if (!board.empty()) return board == board_id;
  return !access.named_only && (kind.empty() || access.kind.empty() || kind == access.kind);
}

// Keys that nobody has or wants any more: peers may name any number of them.
void Scheduler::forget_if_empty(const std::string& name) {
  const auto found = keys_.find(name);
  if (found != keys_.end() && found->second.devices.empty() && found->second.shares.empty()) {
    keys_.erase(found);
  }
}

void Scheduler::open_up(DeviceId id, const Device& device) {
  if (device.used >= device.credits) return;
  for (const std::string& key : device.keys) {
    keys_[key].open.emplace(device.used, device.last_use, id);
  }
}

void Scheduler::close_down(DeviceId id, const Device& device) {
  for (const std::string& key : device.keys) {
    keys_[key].open.erase({device.used, device.last_use, id});
  }
}

Placement Scheduler::place(TrialPtr trial, DeviceId id) {
  Device& device = devices_.at(id);
  close_down(id, device);
  ++device.used;
  device.last_use = ++ticket_;
  open_up(id, device);
  Share& share = keys_[trial->device_key].shares[trial->session];
  share.priority = trial->priority;
  share.last_served = ticket_;
  share.passed_over = 0;
  share.waited = 0;
  share.client_key = trial->client_key;
  ++share.active;
  return {std::move(trial), id};
}

std::optional<Placement> Scheduler::fill(DeviceId id) {
  const auto found = devices_.find(id);
  if (found == devices_.end() || found->second.used >= found->second.credits) return std::nullopt;
  Key* from = nullptr;
  Share* best = nullptr;
  std::vector<Share*> candidates;
  std::deque<TrialPtr>* queue = nullptr;
  for (const std::string& name : found->second.keys) {
    Key& key = keys_[name];
    if (key.waiting == 0) continue;
    for (auto& [session, share] : key.shares) {
      // A request for just this board goes before one that any board may take.
      std::deque<TrialPtr>* mine = nullptr;
      for (const std::string& board : {found->second.board_id, std::string()}) {
        const auto waiting = share.by_board.find(board);
        if (mine || waiting == share.by_board.end() || waiting->second.empty()) continue;
        // All that wait in one queue are made for one kind.
        if (found->second.takes(share.client_key, board, waiting->second.front()->kind)) {
          mine = &waiting->second;
        }
      }
      if (mine == nullptr) continue;
      candidates.push_back(&share);
      if (best == nullptr || share.goes_before(*best)) {
        from = &key;
        best = &share;
        queue = mine;
      }
    }
  }
  if (best == nullptr) return std::nullopt;
  for (Share* other : candidates) {
    other->passed_over += other->priority < best->priority;
    ++other->waited;
  }
  TrialPtr trial = std::move(queue->front());
  queue->pop_front();
  trial->waiting = false;
  --best->waiting;
  --from->waiting;
  return place(std::move(trial), id);
}

std::vector<Placement> Scheduler::add_device(DeviceId id, std::vector<std::string> keys,
                                             const std::string& board_id, std::uint32_t credits,
                                             std::uint32_t used, DeviceAccess access) {
  remove_device(id);
  Device& device = devices_[id];
  device = {std::move(keys), board_id, credits, used, 0, std::move(access)};
  for (const std::string& key : device.keys) {
    keys_[key].devices.insert(id);
    keys_[key].kept += !device.access.free_for_all();
  }
  open_up(id, device);
  std::vector<Placement> placed;
  while (auto next = fill(id)) placed.push_back(std::move(*next));
  return placed;
}

void Scheduler::remove_device(DeviceId id) {
  const auto found = devices_.find(id);
  if (found == devices_.end()) return;
  close_down(id, found->second);
  for (const std::string& key : found->second.keys) {
    keys_[key].devices.erase(id);
    keys_[key].kept -= !found->second.access.free_for_all();
    forget_if_empty(key);
  }
  devices_.erase(found);
}

std::optional<Placement> Scheduler::enqueue(TrialPtr trial, bool front) {
  Key& key = keys_[trial->device_key];
  for (const auto& [used, last_use, id] : key.open) {
    if (devices_.at(id).takes(trial->client_key, trial->board_id, trial->kind)) {
      return place(std::move(trial), id);
    }
  }
  Share& share = key.shares[trial->session];
  share.priority = trial->priority;
  share.client_key = trial->client_key;
  auto& queue = share.by_board[trial->board_id];
  trial->waiting = true;
  if (front)
    queue.push_front(std::move(trial));
  else
    queue.push_back(std::move(trial));
  ++share.waiting;
  ++key.waiting;
  return std::nullopt;
}

std::optional<Placement> Scheduler::give_back(DeviceId id, const std::string& key_name,
                                              const SessionKey& session) {
  if (const auto key = keys_.find(key_name); key != keys_.end()) {
    const auto share = key->second.shares.find(session);
    if (share != key->second.shares.end() && share->second.active > 0) --share->second.active;
  }
  const auto found = devices_.find(id);
  if (found == devices_.end()) return std::nullopt;
  Device& device = found->second;
  close_down(id, device);
  if (device.used > 0) --device.used;
  open_up(id, device);
  return fill(id);
}

bool Scheduler::remove(const TrialPtr& trial) {
  if (!trial->waiting) return false;
  const auto key = keys_.find(trial->device_key);
  if (key == keys_.end()) return false;
  const auto share = key->second.shares.find(trial->session);
  if (share == key->second.shares.end()) return false;
  const auto queue = share->second.by_board.find(trial->board_id);
  if (queue == share->second.by_board.end()) return false;
  const auto at = std::find(queue->second.begin(), queue->second.end(), trial);
  if (at == queue->second.end()) return false;
  queue->second.erase(at);
  trial->waiting = false;
  if (queue->second.empty()) share->second.by_board.erase(queue);
  --share->second.waiting;
  --key->second.waiting;
  return true;
}

void Scheduler::forget_session(const SessionKey& session) {
  for (auto at = keys_.begin(); at != keys_.end();) {
    const auto current = at++;
    Key& key = current->second;
    const auto share = key.shares.find(session);
    if (share == key.shares.end()) continue;
    key.waiting -= share->second.waiting;
    share->second.waiting = 0;
    share->second.by_board.clear();
    key.shares.erase(share);  // give_back copes with its absence
    if (key.shares.empty() && key.devices.empty()) keys_.erase(current);
  }
}

std::map<std::string, Scheduler::KeyStatus> Scheduler::status() const {
  std::map<std::string, KeyStatus> all;
  for (const auto& [name, key] : keys_) {
    const bool own = std::any_of(key.devices.begin(), key.devices.end(), [&](const DeviceId& id) {
      return devices_.at(id).keys.front() == name;
    });
    if (!own && key.waiting == 0) continue;
    KeyStatus& status = all[name];
    status.total = static_cast<std::uint32_t>(key.devices.size());
    status.pending = static_cast<std::uint32_t>(key.waiting);
    for (const DeviceId& id : key.devices) {
      status.free += devices_.at(id).used == 0;
      status.held += devices_.at(id).used;
    }
  }
  return all;
}

std::uint32_t Scheduler::devices_of(const std::string& key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? 0 : static_cast<std::uint32_t>(found->second.devices.size());
}

std::uint32_t Scheduler::devices_for(const std::string& key, const std::string& client_key,
                                     const std::string& kind) const {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return 0;
  if (found->second.kept == 0 && kind.empty())
    return static_cast<std::uint32_t>(found->second.devices.size());
  return static_cast<std::uint32_t>(std::count_if(
      found->second.devices.begin(), found->second.devices.end(),
      [&](const DeviceId& id) { return devices_.at(id).takes(client_key, "", kind); }));
}

bool Scheduler::reaches(const std::string& key, const std::string& client_key) const {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return false;
  return std::any_of(found->second.devices.begin(), found->second.devices.end(),
                     [&](const DeviceId& id) {
                       const Device& device = devices_.at(id);
                       return device.takes(client_key, device.board_id, "");
                     });
}

bool Scheduler::has_board(const std::string& key, const std::string& board_id,
                          const std::string& client_key) const {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return false;
  return std::any_of(
      found->second.devices.begin(), found->second.devices.end(),
      [&](const DeviceId& id) { return devices_.at(id).takes(client_key, board_id, ""); });
}

Scheduler::ShareStatus Scheduler::share_of(const std::string& name,
                                           const SessionKey& session) const {
  const auto key = keys_.find(name);
  if (key == keys_.end()) return {};
  const auto share = key->second.shares.find(session);
  if (share == key->second.shares.end()) return {};
  return {share->second.active, share->second.passed_over, share->second.waiting};
}

std::vector<TrialPtr> Scheduler::waiting() const {
  std::vector<TrialPtr> all;
  for (const auto& [name, key] : keys_) {
    for (const auto& [session, share] : key.shares) {
      for (const auto& [board, queue] : share.by_board) {
        all.insert(all.end(), queue.begin(), queue.end());
      }
    }
  }
  return all;
}

std::uint32_t Scheduler::in_use(DeviceId device) const {
  const auto found = devices_.find(device);
  return found == devices_.end() ? 0 : found->second.used;
}

}  // namespace fettle::fleet
