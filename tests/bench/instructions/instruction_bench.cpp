// The benchmark of instruction counts (instruction_bench.h).
#include "tests/bench/instructions/instruction_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "host/backend/backend.h"
#include "host/model/task_list.h"
#include "host/records/queries.h"
#include "host/records/table.h"
#include "host/space/workload.h"
#include "tests/bench/instructions/instruction_search.h"
#include "tests/support/native_run.h"

namespace fettle::bench {
namespace {

Result<records::TuningRecord> best_record(const records::Database& database,
                                          const InstructionBenchOptions& options,
                                          const space::Workload& workload) {
  records::Filter filter;
  filter.workload = workload.canonical();
  filter.device_key = options.device;
  auto found = records::best(database, filter);
  if (!found) return std::move(found).error();
  for (records::TuningRecord& record : *found) {
    const auto target = space::CpuTarget::parse(record.target);
    if (target && target->arch == options.arch) return std::move(record);
  }
  return Error{ErrorCode::NotFound, "no measured record of it for " + options.arch, {}};
}

// The best record's program, rebuilt.
Result<CountedRun> recorded(const records::Database& database,
                            const InstructionBenchOptions& options, const Layer& layer,
                            InstructionFigures& figures) {
  auto record = best_record(database, options, layer.workload);
  if (!record) return std::move(record).error();
  figures.record = record->id;
  figures.configuration = record->configuration;
  auto target = space::CpuTarget::parse(record->target);
  if (!target) return std::move(target).error();
  target->threads = 1;
  auto task = backend::open_task(layer.workload.dag(), target->target());
  if (!task) return std::move(task).error();
  auto configuration = (*task)->space().parse(record->configuration);
  if (!configuration) return std::move(configuration).error();
  auto built = (*task)->build(*configuration);
  if (!built) return std::move(built).error();
  auto run = count_program(options.arch, *built->program);
  if (!run) return std::move(run).error().in(fmt::format("counting record {}", record->id));
  return run;
}

Result<CountedRun> searched(const InstructionBenchOptions& options, const Layer& layer,
                            InstructionFigures& figures) {
  const space::CpuTarget target =
      options.arch == "aarch64" ? testing::aarch64_target() : testing::armv7_target();
  auto found = search_fewest(layer, target, options.candidates, options.seed);
  if (!found) return std::move(found).error();
  auto task = backend::open_task(layer.workload.dag(), target.target());
  if (!task) return std::move(task).error();
  figures.configuration = (*task)->space().to_json(found->configuration);
  return std::move(found->run);
}

Result<void> compare(const std::optional<records::Database>& database,
                     const InstructionBenchOptions& options, const space::Workload& workload,
                     InstructionFigures& figures) {
  auto layer = make_layer(workload);
  if (!layer) return std::move(layer).error();
  if (layer->half) return Error{ErrorCode::Unsupported, "no peer for float16", {}};
  const Shape& s = layer->shape;
  figures.multiply_adds =
      static_cast<double>(s.batch * s.out_height * s.out_width * s.out_channels * s.kernel[0] *
                          s.kernel[1] * (s.in_channels / s.groups));
  auto ours = options.candidates > 0 ? searched(options, *layer, figures)
                                     : recorded(*database, options, *layer, figures);
  if (!ours) return std::move(ours).error();
  auto xnnpack = count_xnnpack(options.arch, *layer);
  if (!xnnpack) return std::move(xnnpack).error();
  for (const auto& [who, run] : {std::pair{"fettle", &*ours}, std::pair{"XNNPACK", &*xnnpack}}) {
    const std::string wrong = wrong_answer(run->output, *layer);
    if (!wrong.empty()) return Error{ErrorCode::WrongAnswer, std::string(who) + ": " + wrong, {}};
  }
  figures.ours = ours->instructions;
  figures.xnnpack = xnnpack->instructions;
  return {};
}

// Pointwise or depthwise: what XNNPACK has kernels of its own for.
bool wanted(const InstructionBenchOptions& options, const space::Workload& workload) {
  const bool pointwise = workload.call()->op() == "conv2d" &&
                         workload.call()->pair("kernel")[0] == 1 &&
                         workload.call()->pair("kernel")[1] == 1;
  if (!pointwise && workload.call()->op() != "depthwise_conv2d") return false;
  const std::string title = workload.title();
  return options.layers.empty() ||
         std::any_of(options.layers.begin(), options.layers.end(),
                     [&](const std::string& part) { return title.find(part) != title.npos; });
}

nlohmann::json to_json(const InstructionFigures& layer) {
  nlohmann::json object = {{"layer", layer.title}, {"multiply_adds", layer.multiply_adds}};
  if (!layer.missing.empty()) {
    object["missing"] = layer.missing;
    return object;
  }
  if (layer.record != 0) object["record"] = layer.record;
  object["configuration"] = layer.configuration;
  object["instructions"] = layer.ours;
  object["xnnpack_instructions"] = layer.xnnpack;
  object["ratio"] = layer.ratio();
  return object;
}

void print_table(const std::vector<InstructionFigures>& layers) {
  using records::Align;
  records::Table table({{"layer"},
                        {"record", Align::Right},
                        {"fettle", Align::Right},
                        {"per MAC", Align::Right},
                        {"XNNPACK", Align::Right},
                        {"per MAC", Align::Right},
                        {"ratio", Align::Right}});
  for (const InstructionFigures& layer : layers) {
    if (!layer.missing.empty()) continue;
    const auto per = [&](std::uint64_t count) {
      return fmt::format("{:.3f}", static_cast<double>(count) / layer.multiply_adds);
    };
    table.row({layer.title, layer.record == 0 ? "-" : std::to_string(layer.record),
               std::to_string(layer.ours), per(layer.ours), std::to_string(layer.xnnpack),
               per(layer.xnnpack), fmt::format("{:.3f}", layer.ratio())});
  }
  table.print(std::cout);
}

}  // namespace

InstructionSummary summarise(const std::vector<InstructionFigures>& layers) {
  InstructionSummary summary;
  double logs = 0;
  for (const InstructionFigures& layer : layers) {
    if (!layer.missing.empty()) continue;
    const double ratio = layer.ratio();
    if (summary.layers++ == 0 || ratio < summary.least) {
      summary.least = ratio;
      summary.least_layer = layer.title;
    }
    logs += std::log(ratio);
  }
  if (summary.layers > 0) summary.geomean = std::exp(logs / static_cast<double>(summary.layers));
  return summary;
}

Result<void> run_instruction_bench(const InstructionBenchOptions& options) {
  if (const std::string lacking = counting_missing(options.arch); !lacking.empty()) {
    return Error{ErrorCode::Unsupported, lacking, {}};
  }
  auto list = options.network.ends_with(".json") ? model::load_workload_file(options.network)
                                                 : model::load_network(options.network);
  if (!list) return std::move(list).error();
  std::optional<records::Database> database;
  if (options.candidates == 0) {
    records::OpenOptions how;
    how.read_only = true;
    how.create = false;
    auto opened = records::Database::open(options.db, how);
    if (!opened) return std::move(opened).error();
    database = std::move(*opened);
  }

  std::vector<InstructionFigures> layers;
  for (const space::Task& task : list->tasks) {
    if (!wanted(options, task.workload)) continue;
    InstructionFigures& figures = layers.emplace_back();
    figures.title = task.workload.title();
    if (auto done = compare(database, options, task.workload, figures); !done) {
      figures.missing = done.error().text();
    }
    if (options.json) std::cout << to_json(figures).dump() << std::endl;
  }
  const InstructionSummary summary = summarise(layers);
  if (options.json) {
    nlohmann::json object = {{"benchmark", "instructions"},
                             {"summary", true},
                             {"network", options.network},
                             {"arch", options.arch},
                             {"layers", summary.layers},
                             {"candidates", options.candidates},
                             {"missing", layers.size() - summary.layers}};
    if (summary.layers > 0) {
      object["geomean_ratio"] = summary.geomean;
      object["min_ratio"] = summary.least;
      object["min_ratio_layer"] = summary.least_layer;
    }
    std::cout << object.dump() << std::endl;
  } else {
    fmt::print("Instructions executed on {} (emulated), one thread; ratio: XNNPACK's over ours\n\n",
               options.arch);
    std::fflush(stdout);
    print_table(layers);
    if (summary.layers > 0) {
      std::cout << fmt::format("\n{} layers, geometric mean {:.3f}, least {:.3f} ({})\n",
                               summary.layers, summary.geomean, summary.least, summary.least_layer);
    }
    for (const InstructionFigures& layer : layers) {
      if (!layer.missing.empty()) {
        std::cout << "missing: " << layer.title << ": " << layer.missing << "\n";
      }
    }
  }
  if (summary.layers > 0) return {};
  return Error{ErrorCode::NotFound, "no layer of " + options.network + " could be compared", {}};
}

}  // namespace fettle::bench
