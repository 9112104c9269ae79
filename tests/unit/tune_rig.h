// A session of the tuning loop with scripted neighbours.
#pragma once

#include <set>

#include "host/space/workload.h"
#include "tests/unit/tune_doubles.h"

namespace fettle::tune::doubles {

// A session over `task_count` tasks of one space; the script of the builder makes
// every configuration an artifact of its own.
struct Rig {
  explicit Rig(space::SearchSpace space_of_tasks, int task_count = 1)
      : space(std::move(space_of_tasks)) {
    for (int i = 0; i < task_count; ++i) {
      workloads.push_back(workload(32 * (i + 1)));
      tasks.push_back(TuneTask{{workloads.back(), 1}, &space, nullptr, {}});
      tasks.back().searcher =
          make_searcher("random", space, {static_cast<std::uint64_t>(i)}).value();
    }
    options.session = "session";
    options.device_key = "double";
    options.stop_grace = std::chrono::milliseconds(100);
    target = space::Target::parse(R"({"backend":"cpu_llvm","threads":3})").value();
  }

  TuneSummary run() {
    ExpectedOutputs expected(workloads, expect);
    auto scheduler = make_round_robin();
    return tune(
        tasks, target, options,
        {builder, runner, records, expected, *scheduler, stop, listener, roofline, ceilings, pace});
  }

  std::set<std::string> configurations() const {
    std::set<std::string> seen;
    for (const auto& record : records.records) seen.insert(record.workload + record.configuration);
    return seen;
  }

  space::SearchSpace space;
  std::vector<space::Workload> workloads;
  std::vector<TuneTask> tasks;
  TuneOptions options;
  space::Target target;
  ScriptedBuilder builder{[](const wire::BuildRequestT& request) {
    return built_program(request, request.workload + request.configuration);
  }};
  ScriptedRunner runner{[](std::uint64_t trial, const wire::MeasureRequestT&) {
    return measurement(1e6 + static_cast<double>(trial * 7919 % 1000));
  }};
  MemoryRecords records;
  Flag stop;
  Listener listener;
  Roofline roofline;
  Ceilings ceilings;
  Pace* pace = nullptr;
  ExpectedFunction expect = expected_of;
};

}  // namespace fettle::tune::doubles
