// The accounting (board_times.h).
#include "tests/bench/boards/board_times.h"

#include <algorithm>
#include <map>

#include "tests/bench/trial_times.h"

namespace fettle::bench {
namespace {

constexpr double kNsPerMs = 1e6;

using Trials = std::vector<const records::TuningRecord*>;

double busy_share(const Trials& trials, std::size_t first) {
  double busy = 0, all = 0;
  for (std::size_t i = first; i < trials.size(); ++i) {
    const wire::StageTimesT& times = *trials[i]->outcome.times;
    busy += static_cast<double>(times.total_ns);
    all += static_cast<double>(times.total_ns) + static_cast<double>(times.idle_before_ns);
  }
  return all > 0 ? busy / all : 0;
}

BoardTimes times_of(const std::string& board_id, const Trials& trials) {
  BoardTimes board;
  board.board_id = board_id;
  board.trials = trials.size();
  board.busy_share = busy_share(trials, 1);
  board.later_busy_share = busy_share(trials, std::max<std::size_t>(1, trials.size() / 2));
  std::vector<const wire::StageTimesT*> measured;
  std::vector<double> kernels;
  for (const records::TuningRecord* record : trials) {
    const wire::MeasurementT* measurement = record->measurement();
    if (!measurement) {
      ++board.failed;
      continue;
    }
    measured.push_back(record->outcome.times.get());
    board.samples += measurement->samples.size();
    board.disturbed += measurement->disturbed;
    if (measurement->ticks_per_second > 0) {
      kernels.push_back(measurement->median / measurement->ticks_per_second * 1e3);
    }
  }
  const auto median_ms = [&](std::uint64_t wire::StageTimesT::* part) {
    std::vector<double> values;
    for (const auto* times : measured) {
      values.push_back(static_cast<double>(times->*part) / kNsPerMs);
    }
    return median_of(std::move(values));
  };
  board.trial_ms = median_ms(&wire::StageTimesT::total_ns);
  board.load_ms = median_ms(&wire::StageTimesT::load_ns);
  board.warmup_ms = median_ms(&wire::StageTimesT::warmup_ns);
  board.run_ms = median_ms(&wire::StageTimesT::run_ns);
  board.check_ms = median_ms(&wire::StageTimesT::check_ns);
  board.kernel_ms = median_of(std::move(kernels));
  return board;
}

}  // namespace

double SessionTimes::least_busy_share() const {
  double least = boards.empty() ? 0 : boards.front().busy_share;
  for (const BoardTimes& board : boards) least = std::min(least, board.busy_share);
  return least;
}

SessionTimes board_times(const std::vector<records::TuningRecord>& records) {
  SessionTimes session;
  std::map<std::string, Trials> by_board;
  for (const records::TuningRecord& record : records) {
    if (record.outcome.times && record.outcome.times->total_ns > 0) {
      by_board[record.board_id].push_back(&record);
    } else {
      ++session.elsewhere;
    }
  }
  for (const auto& [id, trials] : by_board) session.boards.push_back(times_of(id, trials));
  return session;
}

}  // namespace fettle::bench
