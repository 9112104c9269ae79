// The benchmark of kernels (kernel_bench.h).
#include "tests/bench/kernels/kernel_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "host/model/task_list.h"
#include "host/records/queries.h"
#include "host/records/table.h"
#include "host/space/workload.h"
#include "tests/bench/kernels/layer_figures.h"
#include "tests/bench/kernels/onednn_peer.h"
#include "tests/bench/kernels/openblas_peer.h"
#include "tests/bench/kernels/openmp_threads.h"
#include "tests/bench/kernels/our_kernel.h"
#include "tests/bench/tuned_threads.h"

namespace fettle::bench {
namespace {

// An OpenMP thread without work spins for some milliseconds before it sleeps.
constexpr double kPauseMs = 20;

struct Bench {
  const KernelBenchOptions& options;
  const records::Database& database;
  agent::Device& device;
  space::CpuTarget here;  // this machine's CPU with the threads wanted
  Peak peak;              // measured where it is asked why
};

// The fastest record of the layer that this CPU can run: of those tuned with the
// threads wanted, else of those tuned with others.
Result<records::TuningRecord> best_record(const Bench& bench, const space::Workload& workload) {
  records::Filter filter;
  filter.workload = workload.canonical();
  filter.device_key = bench.options.device;
  auto found = records::best(bench.database, filter);
  if (!found) return std::move(found).error();
  const records::TuningRecord* chosen = nullptr;
  bool chosen_fits = false;
  for (const records::TuningRecord& record : *found) {
    const auto target = space::CpuTarget::parse(record.target);
    if (!target || target->arch != bench.here.arch || target->cpu != bench.here.cpu ||
        target->features != bench.here.features) {
      continue;
    }
    const bool fits = target->threads == bench.here.threads;
    if (chosen == nullptr || (fits && !chosen_fits) ||
        (fits == chosen_fits && *record.nanoseconds() < *chosen->nanoseconds())) {
      chosen = &record;
      chosen_fits = fits;
    }
  }
  if (chosen != nullptr) return *chosen;
  return Error{ErrorCode::NotFound,
               "no measured record of it for device " + bench.options.device + " and this CPU",
               {}};
}

// "" when the peer computes the layer.
std::string wrong_answer(Contender& peer, const Layer& layer) {
  auto output = peer.output();
  return output ? wrong_answer(*output, layer) : output.error().text();
}

// Fills everything of `figures` that is measured.
Result<void> compare(const Bench& bench, const space::Workload& workload, LayerFigures& figures) {
  auto layer = make_layer(workload);
  if (!layer) return std::move(layer).error();
  auto record = best_record(bench, workload);
  if (!record) return std::move(record).error();
  const unsigned threads = static_cast<unsigned>(bench.here.threads);
  auto ours = make_our_kernel(bench.device, *layer, *record, threads);
  if (!ours) return std::move(ours).error().in(fmt::format("rebuilding record {}", record->id));
  figures.record = record->id;
  figures.configuration = record->configuration;
  if (const auto target = space::CpuTarget::parse(record->target)) {
    figures.tuned_threads = target->threads;
  }

  std::vector<std::unique_ptr<Contender>> peers;
  std::vector<std::size_t> places;  // of peers[i] in figures.peers
  const auto add = [&](const char* name, Result<std::unique_ptr<Contender>> made) {
    PeerFigures& peer = figures.peers.emplace_back();
    peer.name = name;
    if (!made) {
      peer.absent = made.error().text();
      return;
    }
    peer.implementation = (*made)->implementation();
    peer.absent = wrong_answer(**made, *layer);
    if (!peer.absent.empty()) return;
    places.push_back(figures.peers.size() - 1);
    peers.push_back(std::move(*made));
  };
  add("onednn", make_onednn_peer(*layer, OneDnnKind::Any));
  if (layer->kind == LayerKind::Convolution)
    add("onednn_winograd", make_onednn_peer(*layer, OneDnnKind::Winograd));
  add("onednn_plain", make_onednn_peer(*layer, OneDnnKind::Plain));
  if (layer->kind == LayerKind::Dense) add("openblas", make_openblas_peer(*layer, threads));

  // Ours between every two peers.
  std::vector<Contender*> turns;
  for (const auto& peer : peers) {
    turns.push_back(ours->get());
    turns.push_back(peer.get());
  }
  if (turns.empty()) turns.push_back(ours->get());
  AlternateOptions how;
  how.rounds = bench.options.rounds;
  how.sample_ms = bench.options.sample_ms;
  how.pause_ms = threads > 1 ? kPauseMs : 0;
  auto timings = alternate(turns, how);
  if (!timings) return std::move(timings).error();
  for (std::size_t i = 0; i < turns.size(); i += 2) {
    auto& all = figures.ours.nanoseconds;
    figures.ours.disturbed += (*timings)[i].disturbed;
    all.insert(all.end(), (*timings)[i].nanoseconds.begin(), (*timings)[i].nanoseconds.end());
  }
  for (std::size_t i = 0; i < peers.size(); ++i) {
    figures.peers[places[i]].timing = std::move((*timings)[2 * i + 1]);
  }
  if (!bench.options.why) return {};
  ours->reset();
  peers.clear();
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(how.pause_ms));
  auto split = measure_time_split(bench.device, *layer, *record, threads, bench.peak);
  if (!split) return std::move(split).error().in("timing launches");
  figures.split = std::move(*split);
  return {};
}

Result<model::TaskList> tasks_of(const std::string& network) {
  return network.ends_with(".json") ? model::load_workload_file(network)
                                    : model::load_network(network);
}

bool wanted(const KernelBenchOptions& options, const std::string& title) {
  return options.layers.empty() ||
         std::any_of(options.layers.begin(), options.layers.end(),
                     [&](const std::string& part) { return title.find(part) != title.npos; });
}

Result<unsigned> threads_of(const KernelBenchOptions& options, const model::TaskList& list,
                            const records::Database& database) {
  if (options.threads) return *options.threads;
  std::set<std::string> workloads;
  for (const space::Task& task : list.tasks) {
    if (wanted(options, task.workload.title())) workloads.insert(task.workload.canonical());
  }
  const auto tuned = tuned_threads(database, workloads, options.device);
  if (!tuned) return tuned.error();
  return static_cast<unsigned>(std::max(1, *tuned));
}

std::string text_of(const LayerFigures& layer, const PeerFigures* peer) {
  return peer == nullptr ? "-" : fmt::format("{:.1f}", layer.gflops(peer->timing));
}

void print_table(const std::vector<LayerFigures>& layers) {
  using records::Align;
  records::Table table({{"layer"},
                        {"record", Align::Right},
                        {"tuned for", Align::Right},
                        {"fettle", Align::Right},
                        {"oneDNN", Align::Right},
                        {"ratio", Align::Right},
                        {"direct", Align::Right},
                        {"ratio", Align::Right},
                        {"plain", Align::Right},
                        {"ratio", Align::Right},
                        {"BLAS", Align::Right},
                        {"oneDNN's implementation"}});
  for (const LayerFigures& layer : layers) {
    if (!layer.missing.empty()) continue;
    const PeerFigures* best = layer.best_onednn();
    const PeerFigures* direct = layer.peer("onednn");
    const PeerFigures* plain = layer.peer("onednn_plain");
    const auto ratio = [&](const PeerFigures* peer) {
      return peer == nullptr ? "-" : fmt::format("{:.3f}", layer.ratio(*peer));
    };
    table.row(
        {layer.title, std::to_string(layer.record), fmt::format("{} thr.", layer.tuned_threads),
         fmt::format("{:.1f}", layer.gflops(layer.ours)), text_of(layer, best), ratio(best),
         text_of(layer, direct), ratio(direct), text_of(layer, plain), ratio(plain),
         text_of(layer, layer.peer("openblas")), best == nullptr ? "-" : best->implementation});
  }
  table.print(std::cout);
}

// Why the layers take as long as they do.
void print_why(const std::vector<LayerFigures>& layers, const Peak& peak) {
  using records::Align;
  records::Table table({{"layer"},
                        {"ratio", Align::Right},
                        {"µs", Align::Right},
                        {"at peak", Align::Right},
                        {"hot loop", Align::Right},
                        {"other launches", Align::Right},
                        {"rest", Align::Right},
                        {"instr/FMA", Align::Right},
                        {"loads/FMA", Align::Right},
                        {"stack", Align::Right},
                        {"FMA/cycle", Align::Right},
                        {"launches, µs"}});
  for (const LayerFigures& layer : layers) {
    if (!layer.split) continue;
    const TimeSplit& split = *layer.split;
    const PeerFigures* best = layer.best_onednn();
    double all = 0;
    std::string launches;
    for (const LaunchTime& launch : split.launches) {
      all += launch.nanoseconds;
      launches += fmt::format("{}{} {:.1f}", launches.empty() ? "" : ", ", launch.name,
                              launch.nanoseconds * 1e-3);
    }
    const auto percent = [](double share) { return fmt::format("{:.1f} %", 100 * share); };
    const int each = split.loop.multiply_adds;
    const auto per = [&](int count) {
      return each == 0 ? "-" : fmt::format("{:.2f}", double(count) / each);
    };
    table.row({layer.title, best == nullptr ? "-" : fmt::format("{:.3f}", layer.ratio(*best)),
               fmt::format("{:.1f}", all * 1e-3), percent(split.at_peak), percent(split.hot_loop),
               percent(split.other_launches), percent(split.rest), per(split.loop.instructions),
               per(split.loop.loads), std::to_string(split.loop.stack_accesses),
               split.loop.cycles > 0 ? fmt::format("{:.2f}", split.loop.per_cycle()) : "-",
               launches});
  }
  std::cout << "\n";
  table.print(std::cout);
  std::cout << fmt::format(
      "\nWhere the time of ours goes. At peak: the operations that it certainly executes (not "
      "those "
      "of iterations\nthat a border may skip) at {:.1f} GFLOPS, which a loop of nothing but "
      "multiply-adds reached here ({:.2f} a cycle\nby the static estimate, {}). Hot loop: what its "
      "other instructions cost by that estimate, everything in the\nfirst cache. Other launches: "
      "padding, transforms. Rest: caches and memory, borders, starts of loops and of\nthreads; "
      "{}.\nFMA: vector multiply-adds of the densest loop (-: none, all is unrolled); stack: its "
      "accesses of the stack.\n",
      peak.gflops, peak.loop.per_cycle(),
      peak.loop.model.empty() ? "none for this CPU" : "LLVM-MCA for " + peak.loop.model,
      hardware_counters());
}

void print_summary(const std::vector<LayerFigures>& layers, const NetworkSummary& summary) {
  const auto line = [](const char* peer, const std::optional<RatioSummary>& ratios) {
    if (!ratios) return;
    std::cout << fmt::format(
        "{}: {} layers, geometric mean {:.3f}, least {:.3f} ({}), whole network {:.3f}\n", peer,
        ratios->layers, ratios->geomean, ratios->least, ratios->least_layer, ratios->weighted);
  };
  std::cout << "\nGFLOPS (nominal), medians; ratio: the peer's time over ours\n";
  line("oneDNN", summary.onednn);
  line("oneDNN without Winograd", summary.direct);
  line("oneDNN on plain layouts", summary.plain);
  for (const LayerFigures& layer : layers) {
    if (!layer.missing.empty())
      std::cout << "missing: " << layer.title << ": " << layer.missing << "\n";
    for (const PeerFigures& peer : layer.peers) {
      if (peer.absent.empty() || peer.name == "onednn_winograd") continue;
      std::cout << "not compared: " << layer.title << ": " << peer.name << ": " << peer.absent
                << "\n";
    }
  }
}

}  // namespace

Result<void> run_kernel_bench(const KernelBenchOptions& options) {
  auto list = tasks_of(options.network);
  if (!list) return std::move(list).error();
  records::OpenOptions how;
  how.read_only = true;
  how.create = false;
  auto database = records::Database::open(options.db, how);
  if (!database) return std::move(database).error();
  auto threads = threads_of(options, *list, *database);
  if (!threads) return std::move(threads).error();
  auto device = open_local_cpu(*threads);
  if (!device) return std::move(device).error();
  const std::vector<std::uint32_t>& cores = (*device)->info().cpu->cores;
  auto here = space::cpu_target_for((*device)->info(), static_cast<int>(cores.size()));
  if (!here) return std::move(here).error();
  const unsigned peer_threads = pin_openmp_threads(cores);
  if (peer_threads != cores.size()) {
    return Error{ErrorCode::Internal,
                 fmt::format("OpenMP started {} threads, {} wanted", peer_threads, cores.size()),
                 {}};
  }
  Bench bench{options, *database, **device, *here, {}};
  if (options.why) {
    auto peak = measure_peak(**device, *here);
    if (!peak) return std::move(peak).error();
    bench.peak = std::move(*peak);
  }

  std::vector<LayerFigures> layers;
  for (const space::Task& task : list->tasks) {
    const std::string title = task.workload.title();
    if (!wanted(options, title)) continue;
    LayerFigures& figures = layers.emplace_back();
    figures.title = title;
    figures.weight = task.weight;
    figures.operations = task.workload.operations();
    auto done = compare(bench, task.workload, figures);
    if (!done) figures.missing = done.error().text();
    if (options.json) std::cout << to_json(figures).dump() << std::endl;
  }
  const NetworkSummary summary = summarise(layers);
  if (options.json) {
    nlohmann::json object = to_json(summary);
    object["benchmark"] = "kernels";
    object["summary"] = true;
    object["network"] = options.network;
    object["threads"] = cores.size();
    object["cpu"] = (*device)->info().name;
    object["onednn"] = onednn_version();
    if (options.why) {
      object["peak_gflops"] = bench.peak.gflops;
      object["hardware_counters"] = hardware_counters();
    }
    object["onednn_instruction_set"] = onednn_instruction_set();
    std::cout << object.dump() << std::endl;
  } else {
    fmt::print("{}, {} threads; oneDNN {} ({})\n\n", (*device)->info().name, cores.size(),
               onednn_version(), onednn_instruction_set());
    std::fflush(stdout);
    print_table(layers);
    if (options.why) print_why(layers, bench.peak);
    print_summary(layers, summary);
  }
  if (!summary.onednn) {
    return Error{ErrorCode::NotFound, "no layer of " + options.network + " could be compared", {}};
  }
  return {};
}

}  // namespace fettle::bench
