// BoardRooflines (board_rooflines.h).
#include "host/tune/board_rooflines.h"

#include <algorithm>
#include <set>
#include <utility>

namespace fettle::tune {
namespace {

constexpr int kFutileRecalibrations = 2;  // in a row; then the roofline is believed

}  // namespace

BoardRooflines::BoardRooflines(const Runner& runner, const Roofline& own, Ceilings ceilings)
    : runner_(runner), ceilings_(std::move(ceilings)), boards_{{runner.board().id, {own}}} {}

const std::string& BoardRooflines::board_of(const wire::OutcomeT& outcome) const {
  return outcome.board_id.empty() ? runner_.board().id : outcome.board_id;
}

Roofline BoardRooflines::of(const wire::OutcomeT& outcome) const {
  const auto board = boards_.find(ceilings_ ? board_of(outcome) : runner_.board().id);
  return board == boards_.end() ? Roofline{} : board->second.roofline;
}

double BoardRooflines::peak_gflops() const {
  double peak = 0;
  for (const auto& [id, board] : boards_) peak = std::max(peak, board.roofline.peak_gflops());
  return peak;
}

bool BoardRooflines::knows_board(const wire::OutcomeT& outcome) const {
  return !ceilings_ || boards_.contains(board_of(outcome));
}

bool BoardRooflines::may_rise(const wire::OutcomeT& outcome) const {
  const auto board = boards_.find(board_of(outcome));
  return ceilings_ && board != boards_.end() && board->second.futile < kFutileRecalibrations;
}

Result<void> BoardRooflines::ask(const std::vector<Measured>& doubted,
                                 std::vector<Measured>& others) {
  std::set<std::string> asked;
  for (const Measured& one : doubted) {
    const std::string& id = board_of(one.outcome);
    if (!asked.insert(id).second) continue;
    const bool again = boards_.contains(id);
    auto roofline = ceilings_(id, again, others);
    if (!roofline) return roofline.error();
    Board& board = boards_[id];
    const Roofline was = std::exchange(board.roofline, *roofline);
    const bool higher = roofline->operations_per_second > was.operations_per_second ||
                        roofline->bytes_per_second > was.bytes_per_second ||
                        roofline->integer_operations_per_second > was.integer_operations_per_second;
    board.futile = higher || !again ? 0 : board.futile + 1;
  }
  return {};
}

}  // namespace fettle::tune
