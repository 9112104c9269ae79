// The best programs of layers, run (vta_bench.h).
#include "tests/bench/vta/vta_bench.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>
#include <set>
#include <thread>

#include "host/app/interrupt.h"
#include "host/backend/vta/design_target.h"
#include "host/records/queries.h"
#include "host/tune/searcher.h"
#include "schemas/wire/content_hash.h"
#include "tests/bench/vta/core_runs.h"
#include "tests/bench/vta/vta_report.h"

namespace fettle::bench {
namespace {

constexpr std::size_t kBatch = 8;  // proposals between two looks at their cycles

// The fastest of distinct programs come first; at most `most` of them.
struct Ranked {
  CoreRun run;
  std::string program;  // hash
  double time = 0;
};
void append_best(std::vector<Ranked> all, unsigned most, std::vector<CoreRun>& runs) {
  std::stable_sort(all.begin(), all.end(),
                   [](const Ranked& a, const Ranked& b) { return a.time < b.time; });
  std::set<std::string> programs;
  for (Ranked& each : all) {
    if (programs.size() == most) return;
    if (programs.insert(each.program).second) runs.push_back(std::move(each.run));
  }
}

class Bench {
 public:
  Bench(const VtaBenchOptions& options, const vta::Design& design,
        const std::vector<VtaLayer>& layers)
      : options_(options), design_(design), layers_(layers), answers_(layers) {}

  Result<void> run() {
    for (const VtaLayer& layer : layers_) missing_.push_back(layer.missing);
    if (auto found = choose(); !found) return found;
    auto ran = run_on_cores(layers_, answers_, runs_, how(options_.rtl));
    if (!ran && ran.error().code != ErrorCode::Canceled) return ran;
    std::vector<VtaFigures> figures;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      figures.push_back(figures_of(i));
      if (options_.json) print_json(figures.back());
    }
    report(options_, design_, figures);
    std::size_t wrong = 0;
    for (const CoreRun& each : runs_) {
      if (each.wrong.empty()) continue;
      ++wrong;
      std::cerr << layers_[each.layer].title << " "
                << layers_[each.layer].task->space().to_json(each.configuration) << ": "
                << each.wrong << "\n";
    }
    if (!ran) return ran;
    if (wrong > 0) {
      return Error{ErrorCode::WrongAnswer, std::to_string(wrong) + " programs went wrong", {}};
    }
    if (summarise(figures).layers > 0) return {};
    return Error{ErrorCode::NotFound, "no layer of " + options_.network + " could be run", {}};
  }

 private:
  CoreRunOptions how(bool rtl) const {
    const unsigned here = std::max(1u, std::thread::hardware_concurrency());
    return {design_, rtl, options_.jobs > 0 ? options_.jobs : here, interrupt_};
  }

  Result<void> choose() {
    std::optional<records::Database> database;
    if (options_.candidates == 0) {
      records::OpenOptions open;
      open.read_only = true;
      open.create = false;
      auto opened = records::Database::open(options_.db, open);
      if (!opened) return std::move(opened).error();
      database = std::move(*opened);
    }
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (!missing_[i].empty()) continue;
      auto found = database ? recorded(*database, i) : searched(i);
      if (found) {
        append_best(std::move(*found), options_.best, runs_);
      } else if (found.error().code == ErrorCode::Canceled) {
        return std::move(found).error();
      } else {
        missing_[i] = found.error().text();
      }
    }
    return {};
  }

  Result<std::vector<Ranked>> recorded(const records::Database& database, std::size_t layer) {
    records::Filter filter;
    filter.workload = layers_[layer].workload.canonical();
    filter.device_key = options_.device;
    // Of other configurations that make the same program, too.
    constexpr unsigned kOfEachProgram = 16;
    auto all = records::best(database, filter, static_cast<int>(options_.best * kOfEachProgram));
    if (!all) return std::move(all).error();
    std::vector<Ranked> found;
    for (const records::TuningRecord& record : *all) {
      // Of the same design: a target of another one is refused when it is parsed.
      const auto text = space::Target::parse(record.target);
      if (!text) continue;
      const auto of = vta::host::DesignTarget::parse(*text);
      if (!of || of->design.name != design_.name) continue;
      auto configuration = layers_[layer].task->space().parse(record.configuration);
      if (!configuration) return std::move(configuration).error();
      found.push_back({{layer, std::move(*configuration), record.id},
                       record.program_hash,
                       record.nanoseconds().value_or(0)});
    }
    if (!found.empty()) return found;
    return Error{ErrorCode::NotFound, "no measured record of it for " + options_.device, {}};
  }

  Result<std::vector<Ranked>> searched(std::size_t layer) {
    const backend::Task& task = *layers_[layer].task;
    tune::SearcherOptions search;
    search.seed = options_.seed;
    search.feature_count = backend::find_backend(vta::host::kBackend)->feature_names().size();
    search.features = [&](const space::Configuration& configuration) {
      return task.features(configuration);
    };
    auto searcher = tune::make_searcher("evolutionary", task.space(), search);
    if (!searcher) return std::move(searcher).error();
    std::vector<Ranked> found;
    while (found.size() < options_.candidates) {
      std::vector<CoreRun> batch;
      for (space::Configuration& each : (*searcher)->propose(
               std::min<std::size_t>(kBatch, options_.candidates - found.size()))) {
        batch.push_back({layer, std::move(each)});
      }
      if (batch.empty()) break;
      if (auto ran = run_on_cores(layers_, answers_, batch, how(false)); !ran) {
        return std::move(ran).error();
      }
      for (CoreRun& each : batch) {
        if (!each.wrong.empty()) return Error{ErrorCode::WrongAnswer, each.wrong, {}};
        auto built = task.build(each.configuration);
        if (!built) return std::move(built).error();
        const double cycles = static_cast<double>(each.estimated);
        (*searcher)->observe({each.configuration, cycles, false, built->facts->features});
        found.push_back({std::move(each), to_hex(*built->program_hash), cycles});
      }
    }
    if (!found.empty()) return found;
    return Error{ErrorCode::NotFound, "the search space is empty", {}};
  }

  VtaFigures figures_of(std::size_t layer) const {
    const VtaLayer& from = layers_[layer];
    VtaFigures out;
    out.title = from.title;
    out.missing = missing_[layer];
    out.bound = from.bound;
    out.multiply_adds = from.multiply_adds;
    out.clock_hz = design_.clock_khz * 1e3;
    out.published_gops = from.published_gops;
    for (const CoreRun& run : runs_) {
      const std::uint64_t cycles = options_.rtl ? run.cycles : run.estimated;
      if (run.layer != layer || cycles == 0) continue;
      if (out.programs++ == 0 || run.estimated < out.chosen_estimated_cycles) {
        out.chosen_cycles = cycles;
        out.chosen_estimated_cycles = run.estimated;
      }
      if (out.programs > 1 && cycles >= out.cycles) continue;
      out.record = run.record;
      out.configuration = from.task->space().to_json(run.configuration);
      out.cycles = cycles;
      out.estimated_cycles = run.estimated;
    }
    if (out.missing.empty() && out.programs == 0) out.missing = "none of its programs was run";
    return out;
  }

  const VtaBenchOptions& options_;
  const vta::Design& design_;
  const std::vector<VtaLayer>& layers_;
  app::Interrupt interrupt_;
  Answers answers_;
  std::vector<std::string> missing_;  // of each layer
  std::vector<CoreRun> runs_;
};

}  // namespace

double VtaFigures::gops() const {
  return 2 * multiply_adds / (static_cast<double>(cycles) / clock_hz) * 1e-9;
}

VtaSummary summarise(const std::vector<VtaFigures>& layers) {
  VtaSummary summary;
  double shares = 0, ratios = 0, chosen = 0;
  for (const VtaFigures& layer : layers) {
    if (!layer.missing.empty()) continue;
    const double share = layer.roofline_share();
    if (summary.layers++ == 0 || share < summary.least_share) {
      summary.least_share = share;
      summary.least_layer = layer.title;
    }
    summary.programs += layer.programs;
    shares += std::log(share);
    chosen +=
        std::log(static_cast<double>(layer.chosen_cycles) / static_cast<double>(layer.cycles));
    if (layer.published_gops <= 0) continue;
    ++summary.published;
    ratios += std::log(layer.gops() / layer.published_gops);
  }
  const auto mean = [](double logs, std::size_t count) {
    return count ? std::exp(logs / static_cast<double>(count)) : 0;
  };
  summary.geomean_share = mean(shares, summary.layers);
  summary.geomean_chosen = mean(chosen, summary.layers);
  summary.geomean_over_published = mean(ratios, summary.published);
  return summary;
}

Result<void> run_vta_bench(const VtaBenchOptions& options) {
  auto design = vta::find_design(options.design);
  if (!design) return std::move(design).error();
  auto layers = layers_of(options.network, options.layers, *design);
  if (!layers) return std::move(layers).error();
  return Bench(options, *design, *layers).run();
}

}  // namespace fettle::bench
