// SessionBoards (session_boards.h).
#include "host/app/session_boards.h"

#include <algorithm>

#include "host/fleet/device_kind.h"
#include "host/fleet/pool.h"

namespace fettle::app {
namespace {

constexpr std::chrono::seconds kAskEvery{5};
constexpr double kMoment = 10;       // seconds that a board counts as busy behind an answer
constexpr std::size_t kMost = 1024;  // boards

std::string name_of(const wire::BoardT& board) {
  return board.hostname.empty() ? board.id : board.hostname;
}

std::string pool_among(const std::string& asked, const wire::DeviceInfoT& device) {
  for (const std::string& pool : fleet::pools_named(asked)) {
    if (fleet::works_in(device, pool)) return pool;
  }
  return fleet::pools_of(device).front();
}

}  // namespace

SessionBoards::SessionBoards(const wire::BoardT& own, const wire::DeviceInfoT& device,
                             const std::string& asked, DeviceList devices)
    : pool_(pool_among(asked, device)),
      kind_(fleet::kind_of(device)),
      devices_(std::move(devices)) {
  Known& known = known_[own.id];
  known.board.id = own.id;
  known.board.name = name_of(own);
  known.board.model = own.model;
  known.board.device = device.name;
  if (devices_) thread_ = std::thread([this] { ask(); });
}

SessionBoards::~SessionBoards() {
  {
    const std::lock_guard hold(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SessionBoards::ask() {
  std::unique_lock hold(mutex_);
  while (!stopping_) {
    hold.unlock();
    const auto list = devices_();
    hold.lock();
    if (list) take(*list);  // a broker that is away says nothing of its boards
    stop_.wait_for(hold, kAskEvery, [&] { return stopping_; });
  }
}

void SessionBoards::take(const wire::DeviceListT& list) {
  for (auto& [id, known] : known_) known.there = false;
  for (const auto& key : list.keys) {
    for (std::size_t i = 0; i < key->boards.size() && i < key->devices.size(); ++i) {
      const wire::DeviceInfoT& device = *key->devices[i];
      if (!fleet::works_in(device, pool_) || fleet::kind_of(device) != kind_) continue;
      const wire::BoardT& board = *key->boards[i];
      if (known_.size() >= kMost && known_.count(board.id) == 0) continue;
      Known& known = known_[board.id];
      known.there = true;
      known.board.id = board.id;
      known.board.name = name_of(board);
      known.board.model = board.model;
      known.board.device = device.name;
    }
  }
}

void SessionBoards::add(const records::TuningRecord& record) {
  if (record.reused || record.board_id.empty() || !record.outcome.times) return;
  const double ended = now();
  const std::lock_guard hold(mutex_);
  const auto found = known_.find(record.board_id);
  if (found == known_.end() && known_.size() >= kMost) return;
  Known& known = known_[record.board_id];
  if (found == known_.end()) known.board.id = known.board.name = record.board_id;
  const wire::StageTimesT& times = *record.outcome.times;
  // One that was lost on its way was on no board.
  if (times.total_ns == 0) return;
  // An agent's clock may leap: nothing lasts longer than the time since it answered before.
  const double busy = std::min(static_cast<double>(times.total_ns) * 1e-9, ended - known.last);
  known.busy.spent(ended - busy, ended);
  known.last = ended;
  ++known.board.trials;
  if (record.failure()) ++known.board.failed;
  const wire::MeasurementT* measured = record.measurement();
  if (measured && measured->after && measured->after->temperature_millidegrees != 0) {
    known.board.temperature = measured->after->temperature_millidegrees / 1000.0;
  }
}

std::vector<SessionBoard> SessionBoards::boards() const {
  const double time = now();
  std::vector<SessionBoard> out;
  const std::lock_guard hold(mutex_);
  for (const auto& [id, known] : known_) {
    SessionBoard& board = out.emplace_back(known.board);
    board.silent = time - known.last;
    const bool lately = board.trials > 0 && board.silent < kMoment;
    board.state = !known.there ? "gone" : lately ? "busy" : "quiet";
    board.busy = known.busy.last_minute(0, time);
    board.shares = known.busy.shares(0, time);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

}  // namespace fettle::app
