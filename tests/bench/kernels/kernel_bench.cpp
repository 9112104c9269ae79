// The benchmark of kernels (kernel_bench.h).
#include "tests/bench/kernels/kernel_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "host/backend/backend.h"
#include "host/model/task_list.h"
#include "host/records/queries.h"
#include "host/space/workload.h"
#include "tests/bench/kernels/cpu_side.h"
#include "tests/bench/kernels/cuda_side.h"
#include "tests/bench/kernels/kernel_report.h"
#include "tests/bench/kernels/opencl_side.h"
#include "tests/bench/tuned_threads.h"

namespace fettle::bench {
namespace {

struct Bench {
  const KernelBenchOptions& options;
  const records::Database& database;
  KernelSide& side;
};

// The fastest record of the layer among those that fit the device best.
Result<records::TuningRecord> best_record(const Bench& bench, const space::Workload& workload) {
  records::Filter filter;
  filter.workload = workload.canonical();
  filter.device_key = bench.options.device;
  auto found = records::best(bench.database, filter);
  if (!found) return std::move(found).error();
  const records::TuningRecord* chosen = nullptr;
  int chosen_fit = 0;
  for (const records::TuningRecord& record : *found) {
    const int fit = bench.side.fit(record.target);
    if (fit > chosen_fit ||
        (chosen && fit == chosen_fit && *record.nanoseconds() < *chosen->nanoseconds())) {
      chosen = &record;
      chosen_fit = fit;
    }
  }
  if (chosen != nullptr) return *chosen;
  return Error{ErrorCode::NotFound,
               "no measured record of it for device " + bench.options.device + " as it is here",
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
  auto ours = bench.side.ours(*layer, *record);
  if (!ours) return std::move(ours).error().in(fmt::format("rebuilding record {}", record->id));
  figures.record = record->id;
  figures.configuration = record->configuration;
  figures.tuned_threads = bench.side.threads_of(record->target);

  std::vector<std::unique_ptr<Contender>> peers;
  std::vector<std::size_t> places;  // of peers[i] in figures.peers
  for (NamedPeer& named : bench.side.peers(*layer)) {
    PeerFigures& peer = figures.peers.emplace_back();
    peer.name = named.name;
    if (!named.made) {
      peer.absent = named.made.error().text();
      continue;
    }
    peer.implementation = (*named.made)->implementation();
    peer.absent = wrong_answer(**named.made, *layer);
    if (!peer.absent.empty()) continue;
    places.push_back(figures.peers.size() - 1);
    peers.push_back(std::move(*named.made));
  }

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
  how.pause_ms = bench.side.pause_ms();
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
  auto split = bench.side.split(*layer, *record);
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

// Of the device that `fettle tune --device` calls so; any other key is the CPU's.
wire::DeviceKind kind_of(const std::string& device) {
  for (const backend::Backend* row : backend::backends()) {
    for (const backend::LocalDevice& local : row->local_devices()) {
      if (local.key == device) return row->kind();
    }
  }
  return wire::DeviceKind::Cpu;
}

Result<std::unique_ptr<KernelSide>> open_side(const KernelBenchOptions& options,
                                              const model::TaskList& list,
                                              const records::Database& database) {
  const wire::DeviceKind kind = kind_of(options.device);
  if (kind == wire::DeviceKind::Cpu) {
    auto threads = threads_of(options, list, database);
    if (!threads) return std::move(threads).error();
    return open_cpu_side(*threads, options.why, options.torch);
  }
  if (options.why) {
    return Error{ErrorCode::InvalidArgument, "--why: only kernels of a CPU are explained", {}};
  }
  if (kind == wire::DeviceKind::Cuda) return open_cuda_side(options.torch);
  if (!options.torch.empty()) {
    return Error{ErrorCode::InvalidArgument, "--torch: PyTorch is no peer on OpenCL devices", {}};
  }
  if (kind == wire::DeviceKind::OpenCl) {
    return open_opencl_side(options.threads.value_or(1));
  }
  return Error{ErrorCode::Unsupported,
               "--device " + options.device + ": no peer of its kind is built in",
               {}};
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
  auto side = open_side(options, *list, *database);
  if (!side) return std::move(side).error();
  const Bench bench{options, *database, **side};

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
    (*side)->describe(object);
    std::cout << object.dump() << std::endl;
  } else {
    fmt::print("{}\n\n", (*side)->heading());
    std::fflush(stdout);
    print_layers(layers, **side);
    if (const Peak* peak = (*side)->peak()) print_why(layers, *peak);
    print_summary(layers, summary, **side);
  }
  if (!summary.fastest) {
    return Error{ErrorCode::NotFound, "no layer of " + options.network + " could be compared", {}};
  }
  return {};
}

}  // namespace fettle::bench
