// The benchmark of kernels (kernel_bench.h).
#include "tests/bench/kernels/kernel_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "host/backend/backend.h"
#include "host/model/task_list.h"
#include "host/space/workload.h"
#include "tests/bench/kernels/built_commit.h"
#include "tests/bench/kernels/compare_layer.h"
#include "tests/bench/kernels/cpu_side.h"
#include "tests/bench/kernels/cuda_side.h"
#include "tests/bench/kernels/kernel_report.h"
#include "tests/bench/kernels/opencl_side.h"
#include "tests/bench/tuned_threads.h"

namespace fettle::bench {
namespace {

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

// As a shell would have it.
std::string command_line() {
  std::string all, word;
  std::ifstream file("/proc/self/cmdline");
  while (std::getline(file, word, '\0')) {
    const bool plain = !word.empty() && word.find_first_of(" \t\n'\"\\$&;|<>()*?") == word.npos;
    all += (all.empty() ? "" : " ") + (plain ? word : "'" + word + "'");
  }
  return all;
}

// Where the figures come from.
nlohmann::json origin(const KernelBenchOptions& options) {
  return {{"command", command_line()},
          {"database", std::filesystem::absolute(options.db).string()},
          {"commit", built_commit()}};
}

nlohmann::json summary_line(const KernelBench& bench, const NetworkSummary& summary) {
  nlohmann::json object = to_json(summary);
  object["benchmark"] = "kernels";
  object["summary"] = true;
  object["network"] = bench.options.network;
  object.update(origin(bench.options));
  bench.side.describe(object);
  return object;
}

LayerFigures figures_of(const KernelBench& bench, const space::Task& task) {
  LayerFigures figures;
  figures.title = task.workload.title();
  figures.group = group_of(task.workload);
  figures.weight = task.weight;
  figures.operations = task.workload.operations();
  figures.required = !bench.options.layers.empty();
  const auto layer = make_layer(task.workload);
  if (!layer) {
    figures.missing = layer.error().text();  // nobody computes it here
    return figures;
  }
  figures.required |= figures.group == LayerGroup::Convolutions;
  if (auto done = compare_layer(bench, *layer, figures); !done) {
    figures.missing = done.error().text();
  }
  return figures;
}

// Each text of --layers names something.
Result<void> check_wanted(const KernelBenchOptions& options, const model::TaskList& list) {
  for (const std::string& part : options.layers) {
    const bool found =
        std::any_of(list.tasks.begin(), list.tasks.end(), [&](const space::Task& task) {
          return task.workload.title().find(part) != std::string::npos;
        });
    if (found) continue;
    return Error{ErrorCode::InvalidArgument,
                 "--layers " + part + ": no layer of " + options.network + " has that in its title",
                 {}};
  }
  return {};
}

}  // namespace

Result<void> run_kernel_bench(const KernelBenchOptions& options) {
  auto list = tasks_of(options.network);
  if (!list) return std::move(list).error();
  if (auto there = check_wanted(options, *list); !there) return there;
  records::OpenOptions how;
  how.read_only = true;
  how.create = false;
  auto database = records::Database::open(options.db, how);
  if (!database) return std::move(database).error();
  auto side = open_side(options, *list, *database);
  if (!side) return std::move(side).error();
  const KernelBench bench{options, *database, **side};

  std::vector<LayerFigures> layers;
  for (const space::Task& task : list->tasks) {
    if (!wanted(options, task.workload.title())) continue;
    layers.push_back(figures_of(bench, task));
    if (options.json) std::cout << to_json(layers.back()).dump() << std::endl;
  }
  const NetworkSummary summary = summarise(layers);
  if (options.json) {
    std::cout << summary_line(bench, summary).dump() << std::endl;
  } else {
    const nlohmann::json about = origin(options);
    fmt::print("{}\ndatabase {}; commit {}\n{}\n\n", about["command"].get<std::string>(),
               about["database"].get<std::string>(), about["commit"].get<std::string>(),
               (*side)->heading());
    std::fflush(stdout);
    print_layers(layers, **side);
    if (const Peak* peak = (*side)->peak()) print_why(layers, *peak);
    print_summary(layers, summary, **side);
  }
  if (const std::string missing = missing_layers(layers); !missing.empty()) {
    return Error{ErrorCode::NotFound, "not compared: " + missing, {}};
  }
  if (!summary.all.fastest) {
    return Error{ErrorCode::NotFound, "no layer of " + options.network + " could be compared", {}};
  }
  return {};
}

}  // namespace fettle::bench
