// A local device's core stands idle while no trial is with it: this says when that begins and
// ends, so that what builds and plans the next trials may run there meanwhile.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "host/fleet/build_pool.h"
#include "host/tune/background.h"
#include "host/tune/pipeline.h"

namespace fettle::app {

// A Runner in front of another, which outlives it.
class IdleRunner final : public tune::Runner {
 public:
  // `idle(true)`: no trial is under way; `idle(false)`: the first one is about to be submitted.
  IdleRunner(tune::Runner& inner, std::function<void(bool)> idle)
      : inner_(inner), idle_(std::move(idle)) {
    idle_(true);
  }
  ~IdleRunner() override {
    if (under_way_.empty()) idle_(false);
  }

  std::size_t capacity() const override { return inner_.capacity(); }
  void offer_blob(const wire::Hash& hash, Bytes bytes) override {
    inner_.offer_blob(hash, std::move(bytes));
  }
  void submit(std::uint64_t trial, const wire::MeasureRequestT& request) override {
    begin(trial);
    inner_.submit(trial, request);
  }
  void submit_to(const std::string& board_id, std::uint64_t trial,
                 const wire::MeasureRequestT& request) override {
    begin(trial);
    inner_.submit_to(board_id, trial, request);
  }
  // Some of them may be on the board still: the core is not lent again before all have ended.
  void cancel_pending() override { inner_.cancel_pending(); }
  Result<std::vector<tune::Measured>> poll(std::chrono::milliseconds wait) override {
    auto measured = inner_.poll(wait);
    if (!measured || measured->empty()) return measured;
    for (const tune::Measured& each : *measured) under_way_.erase(each.trial);
    if (under_way_.empty()) idle_(true);
    return measured;
  }
  std::size_t boards_there() const override { return inner_.boards_there(); }
  std::size_t boards_unlike() const override { return inner_.boards_unlike(); }
  bool reachable() const override { return inner_.reachable(); }
  int ready_fd() const override { return inner_.ready_fd(); }
  const wire::DeviceInfoT& device() const override { return inner_.device(); }
  const wire::BoardT& board() const override { return inner_.board(); }

 private:
  void begin(std::uint64_t trial) {
    if (under_way_.empty()) idle_(false);
    under_way_.insert(trial);
  }

  tune::Runner& inner_;
  std::function<void(bool)> idle_;
  std::set<std::uint64_t> under_way_;
};

// What to do then with builders and plans (each null: none). `free`: the cores that a local device
// leaves; empty: it has none of this machine's, and nothing is moved. `all`: these and the
// device's.
inline std::function<void(bool)> lends_cores(fleet::BuildPool* builders, tune::Background* plans,
                                             std::vector<int> free, std::vector<int> all) {
  return [builders, plans, free = std::move(free), all = std::move(all)](bool idle) {
    if (free.empty()) return;
    if (builders) builders->keep_to(idle ? all : free);
    if (plans) plans->keep_to(idle ? all : free);
  };
}

}  // namespace fettle::app
