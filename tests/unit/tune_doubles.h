// Doubles of the loop's neighbours, in memory and scripted: what a builder makes
// and a board measures is a function that the test gives.
#pragma once

#include <atomic>
#include <functional>
#include <set>

#include <nlohmann/json.hpp>

#include "host/space/workload.h"
#include "host/tune/tune.h"
#include "schemas/wire/content_hash.h"

namespace fettle::tune::doubles {

inline space::Workload workload(int features = 64) {
  auto parsed = space::Workload::parse(nlohmann::json{{"op", "dense"},
                                                      {"batch", 1},
                                                      {"in_features", features},
                                                      {"out_features", 32},
                                                      {"dtype", "float32"},
                                                      {"tail", nlohmann::json::array()}});
  return parsed.value();
}

// `knobs` knobs of `options` options each; option i has the value i.
inline space::SearchSpace grid(int knobs, int options) {
  space::Sketch sketch{"grid", {}};
  for (int k = 0; k < knobs; ++k) {
    space::Knob knob{"k" + std::to_string(k), {}};
    for (int i = 0; i < options; ++i) knob.options.push_back({i});
    sketch.knobs.push_back(knob);
  }
  return space::SearchSpace({sketch});
}

inline wire::BuildResultT built_program(const wire::BuildRequestT& request,
                                        const std::string& text) {
  wire::BuildOutputT output;
  output.program = std::make_unique<wire::ProgramT>();
  output.program->target = request.workload;  // so that a runner's script can tell tasks apart
  for (auto role : {wire::BufferRole::Input, wire::BufferRole::Output}) {
    output.program->buffers.push_back(std::make_unique<wire::BufferT>());
    output.program->buffers.back()->role = role;
    output.program->buffers.back()->bytes = 64;
  }
  const Bytes bytes(text.begin(), text.end());
  output.program_hash = std::make_unique<wire::Hash>(content_hash(bytes));
  output.facts = std::make_unique<wire::ProgramFactsT>();
  output.facts->operations = 1e6;
  wire::BuildResultT result;
  result.id = request.id;
  result.body.Set(std::move(output));
  result.build_ns = 1000;
  return result;
}

inline wire::BuildResultT build_failure(const wire::BuildRequestT& request, ErrorCode code) {
  wire::BuildResultT result;
  result.id = request.id;
  result.body.Set(make_failure(wire::Stage::Build, Error{code, "scripted", {}}));
  return result;
}

inline wire::OutcomeT measurement(double nanoseconds) {
  wire::MeasurementT body;
  body.ticks_per_second = 1e9;
  body.number = 1;
  body.median = body.interval_low = body.interval_high = nanoseconds;
  body.samples = {wire::Sample(static_cast<std::uint64_t>(nanoseconds), 1)};
  wire::OutcomeT outcome;
  outcome.body.Set(std::move(body));
  outcome.times = std::make_unique<wire::StageTimesT>();
  outcome.times->total_ns = 1000;
  return outcome;
}

inline wire::OutcomeT failure(wire::Stage stage, ErrorCode code) {
  wire::OutcomeT outcome;
  outcome.body.Set(make_failure(stage, Error{code, "scripted", {}}));
  return outcome;
}

class ScriptedBuilder final : public Builder {
 public:
  using Script = std::function<wire::BuildResultT(const wire::BuildRequestT&)>;
  explicit ScriptedBuilder(Script script) : script_(std::move(script)) {}

  std::size_t workers() const override { return 2; }
  void submit(wire::BuildRequestT request) override {
    requests.push_back(request);
    queue_.push_back(std::move(request));
    most_at_once = std::max(most_at_once, queue_.size());
  }
  // One result at a time, so that building takes its turns.
  Result<std::vector<Built>> poll(std::chrono::milliseconds) override {
    std::vector<Built> results;
    if (!queue_.empty()) {
      results.push_back({queue_.front().id, script_(queue_.front())});
      queue_.erase(queue_.begin());
    }
    return results;
  }
  int ready_fd() const override { return -1; }

  std::vector<wire::BuildRequestT> requests;
  std::size_t most_at_once = 0;

 private:
  Script script_;
  std::vector<wire::BuildRequestT> queue_;
};

class ScriptedRunner final : public Runner {
 public:
  using Script = std::function<wire::OutcomeT(std::uint64_t trial, const wire::MeasureRequestT&)>;
  explicit ScriptedRunner(Script script) : script_(std::move(script)) {
    board_.id = "board-1";
    device_.key = "double";
  }

  std::size_t capacity() const override { return 2; }
  std::size_t boards_there() const override { return there; }
  void offer_blob(const wire::Hash& hash, Bytes bytes) override {
    EXPECT_EQ(to_hex(content_hash(bytes)), to_hex(hash));
    blobs.insert(to_hex(hash));
  }
  void submit(std::uint64_t trial, const wire::MeasureRequestT& request) override {
    for (const auto& expected : request.expected) {
      EXPECT_TRUE(blobs.contains(to_hex(*expected->blob))) << "a blob that was never offered";
    }
    requests.push_back(std::make_unique<wire::MeasureRequestT>(request));
    queue_.push_back({trial, 1, script_(trial, request)});
    most_at_once = std::max(most_at_once, queue_.size());
  }
  void submit_to(const std::string& board_id, std::uint64_t trial,
                 const wire::MeasureRequestT& request) override {
    boards.push_back(board_id);
    submit(trial, request);
  }
  void cancel_pending() override { canceled = true; }
  // Newest first: results come out of order.
  Result<std::vector<Measured>> poll(std::chrono::milliseconds) override {
    if (error_after && requests.size() >= error_after) {
      return Error{ErrorCode::Unreachable, "the broker is gone", {}};
    }
    std::vector<Measured> results;
    if (!queue_.empty() && ++polls_ % 3 == 0) {
      results.push_back(std::move(queue_.back()));
      queue_.pop_back();
    }
    return results;
  }
  int ready_fd() const override { return -1; }
  const wire::DeviceInfoT& device() const override { return device_; }
  const wire::BoardT& board() const override { return board_; }

  std::vector<std::unique_ptr<wire::MeasureRequestT>> requests;
  std::set<std::string> blobs;
  std::vector<std::string> boards;  // of submit_to
  std::size_t most_at_once = 0, error_after = 0, there = 1;
  bool canceled = false;

 private:
  Script script_;
  std::vector<Measured> queue_;
  int polls_ = 0;
  wire::DeviceInfoT device_;
  wire::BoardT board_;
};

class MemoryRecords final : public RecordSink {
 public:
  Result<void> add(const records::TuningRecord& record) override {
    if (full_after && records.size() >= full_after) {
      return Error{ErrorCode::DiskFull, "no space left on the disk", {}};
    }
    records.push_back(record);
    return {};
  }
  Result<void> confirm(std::span<const records::Confirmation> of_a_task) override {
    if (full_after && records.size() >= full_after) {
      return Error{ErrorCode::DiskFull, "no space left on the disk", {}};
    }
    confirmed.emplace_back(of_a_task.begin(), of_a_task.end());
    return {};
  }
  std::vector<records::TuningRecord> records;
  std::vector<std::vector<records::Confirmation>> confirmed;  // of each task
  std::size_t full_after = 0;
};

class Flag final : public StopSignal {
 public:
  bool requested() const override { return set; }
  int fd() const override { return -1; }
  std::atomic<bool> set = false;  // a test may set it from another thread
};

class Listener final : public TuneListener {
 public:
  void trial_done(std::size_t, const records::TuningRecord&, const Progress& progress) override {
    ++trials;
    if (on_trial) on_trial(progress);
  }
  void tick(const Progress&) override {}
  void warn(const std::string& line) override { warnings.push_back(line); }

  std::uint32_t trials = 0;
  std::vector<std::string> warnings;
  std::function<void(const Progress&)> on_trial;
};

inline Result<Expected> expected_of(const space::Workload&, const std::stop_token&) {
  Expected expected;
  expected.outputs.emplace_back();
  auto& output = expected.outputs.back();
  output.bytes = Bytes(64, 7);
  output.check.blob = std::make_unique<wire::Hash>(content_hash(output.bytes));
  return expected;
}

}  // namespace fettle::tune::doubles
