// Both tools by turns, then their kernels in turns (tvm_bench.h).
#include "tests/bench/peers/tvm_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "agent/platform/cpu_facts.h"
#include "host/model/task_list.h"
#include "host/records/table.h"
#include "tests/bench/agent_process.h"
#include "tests/bench/kernels/built_commit.h"
#include "tests/bench/kernels/compare_layer.h"
#include "tests/bench/kernels/cpu_side.h"
#include "tests/bench/peers/tvm_figures.h"
#include "tests/bench/versions/logged_child.h"
#include "tests/bench/versions/turns.h"
#include "tests/bench/versions/work_folder.h"

namespace fettle::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// An interrupt ends this process and its children as it does any.
class NoStop final : public tune::StopSignal {
 public:
  bool requested() const override { return false; }
  int fd() const override { return -1; }
};

// The CPU's side with TVM in the place of its peers.
class TvmSide final : public KernelSide {
 public:
  TvmSide(std::unique_ptr<KernelSide> cpu, TvmProcess& tvm) : cpu_(std::move(cpu)), tvm_(tvm) {}
  std::string heading() const override { return cpu_->heading(); }
  const char* fastest_title() const override { return "TVM"; }
  std::vector<PeerColumn> columns() const override { return {}; }
  void describe(Json& summary) const override { cpu_->describe(summary); }
  int fit(const std::string& target) const override { return cpu_->fit(target); }
  int threads_of(const std::string& target) const override { return cpu_->threads_of(target); }
  Result<std::unique_ptr<Contender>> ours(const Layer& layer,
                                          const records::TuningRecord& record) override {
    return cpu_->ours(layer, record);
  }
  std::vector<NamedPeer> peers(const Layer& layer) override {
    std::vector<NamedPeer> out;
    out.push_back(tvm_.peer(layer));
    return out;
  }
  double pause_ms() const override { return cpu_->pause_ms(); }
  const Peak* peak() const override { return nullptr; }
  Result<TimeSplit> split(const Layer& layer, const records::TuningRecord& record) override {
    return cpu_->split(layer, record);
  }

 private:
  std::unique_ptr<KernelSide> cpu_;
  TvmProcess& tvm_;
};

Result<std::vector<Layer>> layers_of(const TvmBenchOptions& options) {
  const std::string network = options.network.empty() ? FETTLE_TVM_LAYERS : options.network;
  const auto list = network.ends_with(".json") ? model::load_workload_file(network)
                                               : model::load_network(network);
  if (!list) return list.error();
  std::vector<Layer> layers;
  for (const space::Task& task : list->tasks) {
    const std::string title = task.workload.title();
    const auto holds = [&](const std::string& part) { return title.find(part) != title.npos; };
    if (!options.layers.empty() &&
        std::none_of(options.layers.begin(), options.layers.end(), holds)) {
      continue;
    }
    auto layer = make_layer(task.workload);
    if (!layer) return std::move(layer).error().in(title);
    layers.push_back(std::move(*layer));
  }
  if (!layers.empty()) return layers;
  return Error{ErrorCode::InvalidArgument, "no layer of " + network + " is wanted", {}};
}

// The time is that of the whole process.
Result<TuneFigures> tune_ours(const TvmBenchOptions& options, const Layer& layer,
                              const fs::path& work, std::size_t place) {
  const fs::path list = work / fmt::format("layer{}.json", place);
  std::ofstream(list) << layer.workload.source();
  const ChildLogs logs{work / fmt::format("layer{}.jsonl", place),
                       work / fmt::format("layer{}.log", place)};
  const auto seconds = run_logged(
      {sibling_program("fettle").string(), "tune", list.string(), "--device", "local", "--hardware",
       fmt::format("threads={}", options.threads), "--trials", std::to_string(options.trials),
       "--seed", std::to_string(options.seed), "--db", (work / "fettle.db").string(), "--json"},
      logs, NoStop());
  if (!seconds) return seconds.error();
  const auto text = text_of_file(logs.output);
  if (!text) return text.error();
  auto figures = parse_fettle_tune(*text);
  if (!figures) return std::move(figures).error().in(logs.output.string());
  figures->seconds = *seconds;
  return figures;
}

Result<void> tune_both(const TvmBenchOptions& options, TvmProcess& tvm, const fs::path& work,
                       const std::vector<Layer>& layers, std::vector<TunedLayer>& tuned) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string title = layers[i].workload.title();
    const auto done = by_turns(static_cast<unsigned>(i), [&](std::size_t which) -> Result<void> {
      const char* name = which == 0 ? "fettle" : "TVM";
      auto told = which == 0 ? tune_ours(options, layers[i], work, i)
                             : tvm.tune(layers[i], options.trials, options.seed);
      if (!told) return std::move(told).error().in(fmt::format("{} tuning {}", name, title));
      std::fprintf(stderr, "%-6s %s: %u trials, %u failed, %u not measured again, %.0f s\n", name,
                   title.c_str(), told->trials, told->failed, told->reused, told->seconds);
      (which == 0 ? tuned[i].ours : tuned[i].theirs) = *told;
      return {};
    });
    if (!done) return done;
  }
  return {};
}

Result<void> time_both(const TvmBenchOptions& options, TvmProcess& tvm, const fs::path& work,
                       const std::vector<Layer>& layers, std::vector<TunedLayer>& tuned,
                       Json& about) {
  // The last ones, as `fettle tune` takes them; before ours are pinned.
  const std::vector<std::uint32_t> all = agent::usable_cores();
  const std::size_t threads = std::min<std::size_t>(options.threads, all.size());
  if (auto done = tvm.run_on({all.end() - std::ptrdiff_t(threads), all.end()}); !done) return done;
  auto cpu = open_cpu_side(options.threads, false, "");
  if (!cpu) return std::move(cpu).error();
  (*cpu)->describe(about);
  TvmSide side(std::move(*cpu), tvm);
  records::OpenOptions how;
  how.read_only = true;
  how.create = false;
  const auto database = records::Database::open((work / "fettle.db").string(), how);
  if (!database) return database.error();
  KernelBenchOptions kernels;
  kernels.rounds = options.rounds;
  kernels.sample_ms = options.sample_ms;
  const KernelBench bench{kernels, *database, side};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    LayerFigures& figures = tuned[i].kernels;
    figures.title = layers[i].workload.title();
    figures.operations = layers[i].workload.operations();
    if (auto done = compare_layer(bench, layers[i], figures); !done) {
      figures.missing = done.error().text();
      continue;
    }
    const auto record = database->get(figures.record);
    if (record) tuned[i].ours.told_ns = record->nanoseconds().value_or(0);
  }
  return {};
}

void print_table(const std::vector<TunedLayer>& layers, const TunedSummary& summary) {
  using records::Align;
  records::Table table({{"layer"},
                        {"fettle, GFLOPS", Align::Right},
                        {"TVM", Align::Right},
                        {"ratio", Align::Right},
                        {"reused", Align::Right},
                        {"fettle, trials an hour", Align::Right},
                        {"TVM", Align::Right},
                        {"ratio", Align::Right}});
  std::string faults;
  for (const TunedLayer& layer : layers) {
    const LayerFigures& kernels = layer.kernels;
    const auto ratio = layer.kernel_ratio();
    const auto gflops = [&](const Timing* timing) {
      return timing ? fmt::format("{:.1f}", kernels.gflops(*timing)) : "-";
    };
    table.row({kernels.title, gflops(kernels.missing.empty() ? &kernels.ours : nullptr),
               gflops(layer.tvm() ? &layer.tvm()->timing : nullptr),
               ratio ? fmt::format("{:.3f}", *ratio) : "-",
               fmt::format("{} of {}", layer.ours.reused, layer.ours.trials),
               fmt::format("{:.0f}", layer.ours.per_hour()),
               fmt::format("{:.0f}", layer.theirs.per_hour()),
               fmt::format("{:.2f}", layer.trials_ratio())});
    if (!kernels.missing.empty()) {
      faults += fmt::format("missing: {}: {}\n", kernels.title, kernels.missing);
    }
    for (const PeerFigures& peer : kernels.peers) {
      if (!peer.absent.empty()) {
        faults += fmt::format("not compared: {}: TVM: {}\n", kernels.title, peer.absent);
      }
    }
  }
  table.print(std::cout);
  std::cout
      << faults
      << fmt::format(
             "\nMedians of kernels timed here in turns; ratio: TVM's time over ours, "
             "our trials over TVM's. Reused: trials of ours whose program another one had "
             "measured; they are in no rate.\n{} of {} layers compared: geometric mean {:.3f}, "
             "of trials an hour {:.2f}\n",
             summary.compared, summary.layers, summary.kernel_ratio, summary.trials_ratio);
}

}  // namespace

Result<void> run_tvm_bench(const TvmBenchOptions& options) {
  const auto layers = layers_of(options);
  if (!layers) return layers.error();
  auto python = options.python.empty() ? python_with_tvm() : Result<std::string>(options.python);
  if (!python) return std::move(python).error();
  auto tvm = TvmProcess::start(*python, options.threads);
  if (!tvm) return std::move(tvm).error();
  const auto work = WorkFolder::open(options.keep);
  if (!work) return work.error();
  std::vector<TunedLayer> tuned(layers->size());
  Json about = {{"tvm", (*tvm)->version()},
                {"commit", built_commit()},
                {"trials_each", options.trials},
                {"seed", options.seed}};
  if (auto done = tune_both(options, **tvm, work->path(), *layers, tuned); !done) return done;
  if (auto done = time_both(options, **tvm, work->path(), *layers, tuned, about); !done) {
    return done;
  }
  const TunedSummary summary = summarise(tuned);
  if (options.json) {
    for (const TunedLayer& layer : tuned) std::cout << to_json(layer).dump() << "\n";
    Json last = to_json(summary);
    last.update(about);
    std::cout << last.dump() << std::endl;
  } else {
    std::cout << fmt::format("{}; {} threads, {} trials each; {}; commit {}\n\n",
                             about.value("cpu", "?"), options.threads, options.trials,
                             (*tvm)->version(), built_commit());
    print_table(tuned, summary);
  }
  if (summary.compared == summary.layers) return {};
  return Error{ErrorCode::Internal,
               fmt::format("{} of {} layers could not be compared",
                           summary.layers - summary.compared, summary.layers),
               {}};
}

}  // namespace fettle::bench
