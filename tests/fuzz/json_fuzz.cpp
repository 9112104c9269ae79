// Any text as JSON of the host's: a workload, a DAG, a list of tasks, a record's outcome. The
// first byte says which.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "host/model/task_list.h"
#include "host/records/outcome_json.h"
#include "host/space/dag_text/dag_json.h"
#include "host/space/workload.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/input_file.h"

using namespace fettle;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const InputFile file(".json");
  if (size == 0) return 0;
  const std::string text(data + 1, data + size);
  switch (data[0] % 4) {
    case 0: {
      const auto workload = space::Workload::parse(text);
      // Its source is its key's: what was accepted is accepted again.
      if (workload && !space::Workload::parse(workload->source())) std::abort();
      break;
    }
    case 1: {
      const auto json = nlohmann::json::parse(text, nullptr, false);
      if (json.is_discarded()) break;
      const auto dag = space::dag_of(json);
      if (!dag) break;
      const auto written = space::json_of(*dag);
      if (!written || !space::dag_of(*written)) std::abort();
      break;
    }
    case 2:
      (void)model::load_workload_file(file.of({data + 1, size - 1}));
      break;
    case 3: {
      const auto json = nlohmann::json::parse(text, nullptr, false);
      if (json.is_discarded()) break;
      (void)records::outcome_from_json(json);
      break;
    }
  }
  return 0;
}

std::vector<Bytes> fuzz_seeds() {
  std::vector<Bytes> seeds;
  const std::string folder = FETTLE_TEST_DATA;
  const std::string list = contents_of(folder + "/workloads/dilated_depthwise_swish.json");
  seeds.push_back(seed_of(2, list));
  const auto network = model::load_network("resnet-18");
  if (!network) std::abort();
  for (std::size_t i = 0; i < network->tasks.size() && i < 4; ++i) {
    seeds.push_back(seed_of(0, network->tasks[i].workload.source()));
    seeds.push_back(seed_of(2, "[" + network->tasks[i].workload.source() + "]"));
  }
  const auto tasks = model::load_workload_file(folder + "/workloads/dilated_depthwise_swish.json");
  if (!tasks) std::abort();
  const auto parsed = nlohmann::json::parse(tasks->tasks.at(0).workload.source(), nullptr, false);
  seeds.push_back(seed_of(1, parsed.dump()));
  seeds.push_back(seed_of(1, list));
  wire::OutcomeT outcome;
  outcome.body.Set(make_failure(wire::Stage::Run, {ErrorCode::Crash, "it ended", {"running"}}));
  outcome.times = std::make_unique<wire::StageTimesT>();
  seeds.push_back(seed_of(3, records::to_json(outcome).dump()));
  wire::MeasurementT measurement;
  measurement.median = 5;
  measurement.samples.emplace_back(5, 1u);
  measurement.before = std::make_unique<wire::ConditionsT>();
  outcome.body.Set(std::move(measurement));
  seeds.push_back(seed_of(3, records::to_json(outcome).dump()));
  return seeds;
}
