// Replay: the tuning loop against recordings instead of build workers and boards.
// Everything is answered at once, so a session takes the searcher's time only.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "host/replay/recording.h"
#include "host/space/workload.h"
#include "host/tune/expected_outputs.h"
#include "host/tune/pipeline.h"

namespace fettle::replay {

// Answers from the recording of the request's workload; the configuration must be
// in it. The Programs hold no code, only which trial they stand for.
class ReplayBuilder final : public tune::Builder {
 public:
  // The recordings must outlive this object.
  explicit ReplayBuilder(const std::vector<Recording>& recordings);
  ~ReplayBuilder() override;
  std::size_t workers() const override { return 1; }
  void submit(wire::BuildRequestT request) override;
  Result<std::vector<tune::Built>> poll(std::chrono::milliseconds wait) override;
  int ready_fd() const override { return event_; }

 private:
  wire::BuildResultT build(const wire::BuildRequestT& request) const;

  const std::vector<Recording>& recordings_;
  std::vector<tune::Built> done_;
  int event_ = -1;
};

// A trial that is clearly slower than the request's racing bound comes back
// censored, as from a board. Times are the recorded ones, bit for bit.
class ReplayRunner final : public tune::Runner {
 public:
  explicit ReplayRunner(const std::vector<Recording>& recordings);
  ~ReplayRunner() override;
  std::size_t capacity() const override { return 1; }
  std::size_t boards_there() const override { return 1; }
  void offer_blob(const wire::Hash&, Bytes) override {}
  void submit(std::uint64_t trial, const wire::MeasureRequestT& request) override;
  void cancel_pending() override { done_.clear(); }
  Result<std::vector<tune::Measured>> poll(std::chrono::milliseconds wait) override;
  int ready_fd() const override { return event_; }
  const wire::DeviceInfoT& device() const override { return device_; }
  const wire::BoardT& board() const override { return board_; }

 private:
  const std::vector<Recording>& recordings_;
  std::vector<tune::Measured> done_;
  wire::DeviceInfoT device_;
  wire::BoardT board_;
  int event_ = -1;
};

// What the outputs of a replay are compared with: nothing is run, so one empty blob.
Result<tune::Expected> no_expected_outputs(const space::Workload& workload,
                                           const std::stop_token& stop);

}  // namespace fettle::replay
