// Layers on the simulated accelerator (vta_bench.h).
#include "tests/bench/vta/vta_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "host/backend/backend.h"
#include "host/backend/vta/bound.h"
#include "host/backend/vta/design_target.h"
#include "host/model/task_list.h"
#include "host/records/queries.h"
#include "host/records/table.h"
#include "host/space/compulsory.h"
#include "host/space/reference.h"
#include "host/tune/searcher.h"
#include "tests/support/vta_device.h"

namespace fettle::bench {
namespace {

constexpr std::size_t kBatch = 8;  // proposals between two looks at their cycles

struct Found {
  space::Configuration configuration;
  std::uint64_t cycles = 0;
};

Result<std::uint64_t> cycles_of(const vta::Design& design, const wire::ProgramT& program) {
  testing::VtaMemory memory(design, program);
  const auto run = memory.run();
  if (!run) return run.error();
  return run->cycles;
}

Result<Found> searched(const VtaBenchOptions& options, const vta::Design& design,
                       const backend::Task& task) {
  tune::SearcherOptions how;
  how.seed = options.seed;
  how.feature_count = backend::find_backend(vta::host::kBackend)->feature_names().size();
  how.features = [&](const space::Configuration& configuration) {
    return task.features(configuration);
  };
  auto searcher = tune::make_searcher("evolutionary", task.space(), how);
  if (!searcher) return std::move(searcher).error();
  std::optional<Found> best;
  for (std::size_t done = 0; done < options.candidates;) {
    const auto proposals =
        (*searcher)->propose(std::min<std::size_t>(kBatch, options.candidates - done));
    if (proposals.empty()) break;
    done += proposals.size();
    for (const space::Configuration& configuration : proposals) {
      tune::Observation observation{configuration, std::nullopt, false, {}};
      auto built = task.build(configuration);
      if (!built) return std::move(built).error();
      auto cycles = cycles_of(design, *built->program);
      if (!cycles) return std::move(cycles).error();
      observation.features = built->facts->features;
      observation.nanoseconds = static_cast<double>(*cycles);
      (*searcher)->observe(observation);
      if (!best || *cycles < best->cycles) best = Found{configuration, *cycles};
    }
  }
  if (best) return *best;
  return Error{ErrorCode::NotFound, "the search space is empty", {}};
}

Result<Found> recorded(const VtaBenchOptions& options, const records::Database& database,
                       const vta::Design& design, const space::Workload& workload,
                       const backend::Task& task, VtaFigures& figures) {
  records::Filter filter;
  filter.workload = workload.canonical();
  filter.device_key = options.device;
  // By cycles: those of an accelerator are no time of which records::best() knows.
  auto all = records::history(database, filter);
  if (!all) return std::move(all).error();
  const auto cycles = [](const records::TuningRecord& record) {
    const wire::MeasurementT* measured = record.measurement();
    return measured && measured->clock == wire::ClockDomain::AcceleratorCycles ? measured->median
                                                                               : HUGE_VAL;
  };
  std::stable_sort(all->begin(), all->end(),
                   [&](const auto& a, const auto& b) { return cycles(a) < cycles(b); });
  for (const records::TuningRecord& record : *all) {
    if (cycles(record) == HUGE_VAL) break;
    // Of the same design: a target of another one is refused when it is parsed.
    const auto text = space::Target::parse(record.target);
    if (!text) continue;
    const auto of = vta::host::DesignTarget::parse(*text);
    if (!of || of->design.name != design.name) continue;
    auto configuration = task.space().parse(record.configuration);
    if (!configuration) return std::move(configuration).error();
    figures.record = record.id;
    return Found{std::move(*configuration), 0};
  }
  return Error{ErrorCode::NotFound, "no measured record of it for " + options.device, {}};
}

// Runs the configuration's program and compares what it stores.
Result<std::uint64_t> measured(const vta::Design& design, const space::Workload& workload,
                               const backend::Task& task,
                               const space::Configuration& configuration) {
  auto built = task.build(configuration);
  if (!built) return std::move(built).error();
  testing::VtaMemory memory(design, *built->program);
  const auto run = memory.run();
  if (!run) return run.error();
  const auto expected = space::evaluate(workload.dag());
  if (!expected) return expected.error();
  const ByteView output = memory.buffer(expected->front().name);
  const Bytes& right = expected->front().bytes;
  if (!std::equal(output.begin(), output.end(), right.begin(), right.end())) {
    return Error{ErrorCode::WrongAnswer, "the output is not the reference's", {}};
  }
  return run->cycles;
}

Result<void> fill(const VtaBenchOptions& options, const vta::Design& design,
                  const std::optional<records::Database>& database, const space::Workload& workload,
                  VtaFigures& figures) {
  const space::Target target = vta::host::DesignTarget{design}.target();
  auto task = backend::open_task(workload.dag(), target);
  if (!task) return std::move(task).error();
  auto product = vta::host::product_of(workload.dag(), design);
  if (!product) return std::move(product).error();
  figures.bound_cycles =
      vta::host::bound_of(*product, design, space::compulsory_bytes(workload.dag())).cycles();
  figures.multiply_adds =
      static_cast<double>(product->products()) * static_cast<double>(design.macs_per_uop());
  figures.clock_hz = design.clock_khz * 1e3;
  figures.published_gops = model::published_gops(options.network, workload);
  auto found = database ? recorded(options, *database, design, workload, **task, figures)
                        : searched(options, design, **task);
  if (!found) return std::move(found).error();
  figures.configuration = (*task)->space().to_json(found->configuration);
  auto cycles = measured(design, workload, **task, found->configuration);
  if (!cycles) return std::move(cycles).error();
  figures.cycles = *cycles;
  return {};
}

nlohmann::json to_json(const VtaFigures& layer) {
  nlohmann::json object = {{"layer", layer.title}};
  if (!layer.missing.empty()) {
    object["missing"] = layer.missing;
    return object;
  }
  if (layer.record != 0) object["record"] = layer.record;
  object["configuration"] = nlohmann::json::parse(layer.configuration);
  object["cycles"] = layer.cycles;
  object["bound_cycles"] = layer.bound_cycles;
  object["roofline_share"] = layer.roofline_share();
  object["gops"] = layer.gops();
  if (layer.published_gops > 0) {
    object["published_tuned_gops"] = layer.published_gops;
    object["over_published"] = layer.gops() / layer.published_gops;
  }
  return object;
}

void print(const std::vector<VtaFigures>& layers, const VtaSummary& summary) {
  using records::Align;
  records::Table table({{"layer"},
                        {"cycles", Align::Right},
                        {"of the bound", Align::Right},
                        {"GOPS", Align::Right},
                        {"published", Align::Right}});
  for (const VtaFigures& layer : layers) {
    if (!layer.missing.empty()) continue;
    table.row({layer.title, std::to_string(layer.cycles),
               fmt::format("{:.1f} %", 100 * layer.roofline_share()),
               fmt::format("{:.2f}", layer.gops()),
               layer.published_gops > 0 ? fmt::format("{:.2f}", layer.published_gops) : "-"});
  }
  table.print(std::cout);
  for (const VtaFigures& layer : layers) {
    if (!layer.missing.empty()) std::cout << layer.title << ": " << layer.missing << "\n";
  }
  if (summary.layers == 0) return;
  std::cout << fmt::format(
      "\n{} layers, {:.1f} % of the bound at least ({}), {:.1f} % in the "
      "geometric mean\n",
      summary.layers, 100 * summary.least_share, summary.least_layer, 100 * summary.geomean_share);
  if (summary.published > 0) {
    std::cout << fmt::format("{:.2f} times what was published, in the geometric mean of {}\n",
                             summary.geomean_over_published, summary.published);
  }
}

}  // namespace

double VtaFigures::gops() const {
  return 2 * multiply_adds / (static_cast<double>(cycles) / clock_hz) * 1e-9;
}

VtaSummary summarise(const std::vector<VtaFigures>& layers) {
  VtaSummary summary;
  double shares = 0, ratios = 0;
  for (const VtaFigures& layer : layers) {
    if (!layer.missing.empty()) continue;
    const double share = layer.roofline_share();
    if (summary.layers++ == 0 || share < summary.least_share) {
      summary.least_share = share;
      summary.least_layer = layer.title;
    }
    shares += std::log(share);
    if (layer.published_gops <= 0) continue;
    ++summary.published;
    ratios += std::log(layer.gops() / layer.published_gops);
  }
  const auto mean = [](double logs, std::size_t count) {
    return count ? std::exp(logs / static_cast<double>(count)) : 0;
  };
  summary.geomean_share = mean(shares, summary.layers);
  summary.geomean_over_published = mean(ratios, summary.published);
  return summary;
}

Result<void> run_vta_bench(const VtaBenchOptions& options) {
  auto design = vta::find_design(options.design);
  if (!design) return std::move(design).error();
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
  std::vector<VtaFigures> layers;
  for (const space::Task& task : list->tasks) {
    const std::string title = task.workload.title();
    if (!options.layers.empty() &&
        std::none_of(options.layers.begin(), options.layers.end(),
                     [&](const std::string& part) { return title.find(part) != title.npos; })) {
      continue;
    }
    VtaFigures& figures = layers.emplace_back();
    figures.title = title;
    if (auto done = fill(options, *design, database, task.workload, figures); !done) {
      figures.missing = done.error().text();
    }
    if (options.json) std::cout << to_json(figures).dump() << std::endl;
  }
  const VtaSummary summary = summarise(layers);
  if (options.json) {
    std::cout << nlohmann::json{{"benchmark", "vta"},
                                {"summary", true},
                                {"network", options.network},
                                {"design", vta::configuration_of(*design)},
                                {"core", "simulator"},
                                {"assumed_clock_mhz", design->clock_khz / 1e3},
                                {"candidates", options.candidates},
                                {"layers", summary.layers},
                                {"missing", layers.size() - summary.layers},
                                {"min_roofline_share", summary.least_share},
                                {"min_roofline_share_layer", summary.least_layer},
                                {"geomean_roofline_share", summary.geomean_share},
                                {"geomean_over_published", summary.geomean_over_published}}
                     .dump()
              << std::endl;
  } else {
    print(layers, summary);
  }
  if (summary.layers > 0) return {};
  return Error{ErrorCode::NotFound, "no layer of " + options.network + " could be run", {}};
}

}  // namespace fettle::bench
