// ExpectedOutputs: the right answers of every task, computed once per task on a
// thread of its own while candidates are already being built.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "host/space/reference.h"
#include "host/space/workload.h"
#include "schemas/measure_generated.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/result.h"

namespace fettle::tune {

// One entry per output buffer of the task's programs, in their order. The
// buffer's index is the program's matter and filled in per candidate.
struct Expected {
  struct Output {
    wire::ExpectedOutputT check;
    Bytes bytes;
  };
  std::vector<Output> outputs;
};
// Tensors with their tolerances as checks of a program's outputs.
Expected expected_from(std::vector<space::ExpectedTensor> tensors);
// By the reference evaluator, with the tolerances of host/space/tolerance.h.
Result<Expected> evaluate_expected(const space::Workload& workload, const std::stop_token& stop);

// Returns soon once `stop` is requested: nobody wants the answer any more.
using ExpectedFunction =
    std::function<Result<Expected>(const space::Workload&, const std::stop_token& stop)>;

class ExpectedOutputs {
 public:
  // Starts at once with workload 0, then 1, …; `cores`: where the thread may run
  // (empty: anywhere).
  explicit ExpectedOutputs(std::vector<space::Workload> workloads,
                           ExpectedFunction compute = evaluate_expected,
                           std::vector<std::uint32_t> cores = {});
  ~ExpectedOutputs();  // stops at once
  ExpectedOutputs(const ExpectedOutputs&) = delete;
  ExpectedOutputs& operator=(const ExpectedOutputs&) = delete;

  bool ready(std::size_t task) const { return done_.load(std::memory_order_acquire) > task; }
  // Only when ready; valid as long as this object.
  const Result<Expected>& of(std::size_t task) const { return *results_[task]; }
  int ready_fd() const { return event_; }  // readable when one more became ready
  void clear_ready();
  // Until one more became ready, or `longest` is over. For the one thread that waits for them.
  void wait(std::chrono::milliseconds longest);

 private:
  void run(const std::stop_token& stop, const std::vector<std::uint32_t>& cores);

  std::vector<space::Workload> workloads_;
  ExpectedFunction compute_;
  std::vector<std::optional<Result<Expected>>> results_;  // [i] is written before done_ > i
  std::atomic<std::size_t> done_{0};
  int event_ = -1;
  std::jthread thread_;
};

}  // namespace fettle::tune
