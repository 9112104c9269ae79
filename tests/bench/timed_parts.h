// A Builder and a Runner that pass everything on and note when things came back.
#pragma once

#include <unordered_map>
#include <vector>

#include "host/tune/pipeline.h"
#include "tests/bench/trial_times.h"

namespace fettle::bench {

class TimedBuilder final : public tune::Builder {
 public:
  explicit TimedBuilder(tune::Builder& inner) : inner_(inner) {}
  struct Built {
    TimePoint when;
    std::uint64_t build_ns = 0;
  };
  const Built& of(std::uint64_t trial) const { return built_.at(trial); }

  std::size_t workers() const override { return inner_.workers(); }
  void submit(wire::BuildRequestT request) override { inner_.submit(std::move(request)); }
  int ready_fd() const override { return inner_.ready_fd(); }
  Result<std::vector<tune::Built>> poll(std::chrono::milliseconds wait) override {
    auto results = inner_.poll(wait);
    if (results) {
      for (const tune::Built& one : *results)
        built_[one.id] = {std::chrono::steady_clock::now(), one.result.build_ns};
    }
    return results;
  }

 private:
  tune::Builder& inner_;
  std::unordered_map<std::uint64_t, Built> built_;
};

class TimedRunner final : public tune::Runner {
 public:
  TimedRunner(tune::Runner& inner, const TimedBuilder& builder)
      : inner_(inner), builder_(builder) {}
  const std::vector<Seen>& seen() const { return seen_; }  // in the order of completion

  std::size_t capacity() const override { return inner_.capacity(); }
  void offer_blob(const wire::Hash& hash, Bytes bytes) override {
    inner_.offer_blob(hash, std::move(bytes));
  }
  void submit(std::uint64_t trial, const wire::MeasureRequestT& request) override {
    inner_.submit(trial, request);
  }
  void cancel_pending() override { inner_.cancel_pending(); }
  std::size_t boards_there() const override { return inner_.boards_there(); }
  bool reachable() const override { return inner_.reachable(); }
  int ready_fd() const override { return inner_.ready_fd(); }
  const wire::DeviceInfoT& device() const override { return inner_.device(); }
  const wire::BoardT& board() const override { return inner_.board(); }
  Result<std::vector<tune::Measured>> poll(std::chrono::milliseconds wait) override {
    auto results = inner_.poll(wait);
    if (results) {
      for (const tune::Measured& one : *results) {
        const TimedBuilder::Built& built = builder_.of(one.trial);
        seen_.push_back(
            {one.trial, built.build_ns, built.when, std::chrono::steady_clock::now(), one.outcome});
      }
    }
    return results;
  }

 private:
  tune::Runner& inner_;
  const TimedBuilder& builder_;
  std::vector<Seen> seen_;
};

}  // namespace fettle::bench
