// A recorded search to draw: tasks whose times follow from their knobs, with noise,
// and some failures.
#pragma once

#include <cmath>
#include <random>

#include "host/backend/backend.h"
#include "host/space/profile.h"
#include "host/space/workload.h"
#include "tests/unit/records_sample.h"

namespace fettle::plot::test {

inline space::CpuTarget sample_target() { return space::find_profile("", "x86_64")->target; }

inline space::Workload sample_workload(int in_features) {
  auto workload = space::Workload::parse(R"({"op":"dense","in_features":)" +
                                         std::to_string(in_features) + R"(,"out_features":256})");
  EXPECT_TRUE(workload.ok());
  return std::move(*workload);
}

// `configuration`: a new one each time. Nanoseconds grow with the distance of every
// knob from its first option, so that they can be learnt; 2 % noise.
struct SampleTrial {
  std::string configuration;
  double nanoseconds;
};
inline std::vector<SampleTrial> sample_trials(int in_features, std::size_t count) {
  const auto task =
      backend::open_task(sample_workload(in_features).dag(), sample_target().target());
  if (!task) {
    ADD_FAILURE() << task.error().text();
    return {};
  }
  const space::SearchSpace* space = &(*task)->space();
  std::mt19937_64 rng(static_cast<std::uint64_t>(in_features));
  std::vector<SampleTrial> trials;
  for (std::size_t i = 0; i < count; ++i) {
    const space::Configuration c = space->random(rng);
    double time = 1 + 0.1 * c.sketch;
    for (std::size_t k = 0; k < c.choice.size(); ++k) {
      const auto& options = space->sketches()[c.sketch].knobs[k].options;
      time += 2.0 * c.choice[k] / (options.size() * static_cast<double>(k + 1));
    }
    time *= 1 + 0.02 * std::uniform_real_distribution<double>(-1, 1)(rng);
    trials.push_back({space->to_json(c), 1e6 * time});
  }
  return trials;
}

inline void fill_search(records::Database& database, int tasks, int trials) {
  for (int task = 0; task < tasks; ++task) {
    const int in_features = 128 << task;
    const space::Workload workload = sample_workload(in_features);
    const auto samples = sample_trials(in_features, static_cast<std::size_t>(trials));
    for (int i = 1; i <= trials; ++i) {
      const int n = 1000 * task + i;
      auto record =
          records::test::measured(n, samples.at(static_cast<std::size_t>(i - 1)).nanoseconds);
      if (i % 17 == 0) {
        record = records::test::failed(n, ErrorCode::WrongAnswer, wire::Stage::Check, "off by 2");
      } else if (i % 40 == 0) {
        record = records::test::failed(n, ErrorCode::RunTimeout, wire::Stage::Run, "took 4 s");
      }
      record.configuration = samples[static_cast<std::size_t>(i - 1)].configuration;
      record.workload = workload.canonical();
      record.workload_hash = workload.hash();
      record.target = sample_target().canonical();
      record.operations = 1e8 * (task + 1);
      record.build_ns = 30'000'000;
      wire::StageTimesT& times = *record.outcome.times;
      times.queue_ns = 5'000'000;
      times.upload_ns = 400'000;
      times.load_ns = 2'000'000;
      times.warmup_ns = 3'000'000;
      times.check_ns = 1'000'000;
      times.run_ns = 60'000'000;
      times.total_ns = 68'000'000;
      ASSERT_DONE(database.insert(record));
    }
  }
}

}  // namespace fettle::plot::test
