// tune(): one session. propose → build → measure → record → observe, all at once.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/records/record.h"
#include "host/space/target.h"
#include "host/space/workload.h"
#include "host/tune/board_rooflines.h"
#include "host/tune/expected_outputs.h"
#include "host/tune/listener.h"
#include "host/tune/pace.h"
#include "host/tune/pipeline.h"
#include "host/tune/searcher.h"

namespace fettle::tune {

struct TuneTask {
  space::Task task;
  const space::SearchSpace* space = nullptr;  // outlives the session
  std::unique_ptr<Searcher> searcher;
  std::vector<records::TuningRecord> history;  // resumed: observed first, never repeated
  // Measured on the same device by sessions that this one is compared with. The searcher
  // learns nothing of it; but a program of these is not measured again.
  std::vector<records::TuningRecord> measured = {};
};

// How long and how often a candidate is sampled unless a user says otherwise. Samples of
// 5 ms: a short one fits between two disturbances more often than a long one, and most
// candidates are known to lose after three.
wire::MeasureOptionsT default_measuring();

struct TuneOptions {
  std::string session;  // stored with every record
  std::string device_key;
  std::uint32_t trials = 1000;  // over all tasks; history that still fits counts
  std::uint32_t early_stopping =
      0;  // a task ends after so many trials without improvement; 0: never
  // A task ends when so many trials failed and none was measured; 0: never.
  std::uint32_t hopeless = 0;
  // Number of the first trial: a runner that serves several calls must not see one twice.
  std::uint64_t first_trial = 1;
  // Synchronous batches: proposals depend on the searchers' seeds and on the outcomes,
  // not on the order in which they come back. Builders and boards idle between batches.
  bool deterministic = false;
  // Programs of a task that are measured again at the end, at most (finals.h); 0: no finals.
  std::size_t finalists = 0;
  bool racing = true;  // candidates that are clearly slower than the best are stopped early
  // Threads and racing bound are set by the loop.
  wire::MeasureOptionsT measure = default_measuring();
  std::chrono::milliseconds stop_grace{3000};  // after an interrupt, for what is on the boards
};

// Where finished trials go. An Error (a full disk) ends the session.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual Result<void> add(const records::TuningRecord& record) = 0;
  // What the finals of a task told: all or none. Only where TuneOptions::finalists wants finals.
  virtual Result<void> confirm(std::span<const records::Confirmation> confirmations) = 0;
};

// Everything the loop talks to. All outlive the call.
struct TuneParts {
  Builder& builder;
  Runner& runner;
  RecordSink& records;
  ExpectedOutputs& expected;  // index i belongs to tasks[i]
  TaskScheduler& scheduler;
  StopSignal& stop;
  TuneListener& listener;
  Roofline roofline;     // of runner.board()
  Ceilings ceilings;     // empty: that roofline holds for every board
  Pace* pace = nullptr;  // told of each trial; null: nobody asks
};

// Never loses a finished trial: each is stored before anything else learns of it. (One
// whose result is in doubt has not finished: if the session ends then, it is tried again.)
TuneSummary tune(std::vector<TuneTask>& tasks, const space::Target& target,
                 const TuneOptions& options, TuneParts parts);

}  // namespace fettle::tune
