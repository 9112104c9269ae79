// Submitting and waiting (one_trial.h).
#include "host/tune/one_trial.h"

#include <optional>

#include <poll.h>

namespace fettle::tune {
namespace {

constexpr int kTries = 3;  // more runs of a program that something else disturbed

bool disturbed(const wire::OutcomeT& outcome) {
  const wire::FailureT* failure = outcome.body.AsFailure();
  return failure && failure->error && failure->error->code == ErrorCode::Disturbed;
}

}  // namespace

std::uint64_t number_of_its_own() {
  static std::uint64_t trial = std::uint64_t{1} << 63;
  return trial++;
}

Result<wire::OutcomeT> run_on_board(Runner& runner, const std::string& board_id, StopSignal& stop,
                                    const wire::MeasureRequestT& request,
                                    std::vector<Measured>& others) {
  const std::uint64_t trial = number_of_its_own();
  runner.submit_to(board_id, trial, request);
  for (;;) {
    auto measured = runner.poll(std::chrono::milliseconds(0));
    if (!measured) return measured.error();
    std::optional<wire::OutcomeT> outcome;
    for (Measured& one : *measured) {
      if (one.trial == trial) {
        outcome = std::move(one.outcome);
      } else {
        others.push_back(std::move(one));
      }
    }
    if (outcome) return std::move(*outcome);
    if (stop.requested()) {
      runner.cancel_pending();
      return Error{ErrorCode::Canceled, "interrupted", {}};
    }
    pollfd fds[] = {{runner.ready_fd(), POLLIN, 0}, {stop.fd(), POLLIN, 0}};
    ::poll(fds, 2, runner.ready_fd() < 0 ? 2 : 50);
  }
}

Result<wire::OutcomeT> run_undisturbed(Runner& runner, const std::string& board_id,
                                       StopSignal& stop, const wire::MeasureRequestT& request,
                                       std::vector<Measured>& others) {
  auto outcome = run_on_board(runner, board_id, stop, request, others);
  for (int again = 0; again < kTries && outcome && disturbed(*outcome); ++again) {
    outcome = run_on_board(runner, board_id, stop, request, others);
  }
  return outcome;
}

}  // namespace fettle::tune
