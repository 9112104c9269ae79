// Running a network once and many times (run_network.h).
#include "runtime/run/run_network.h"

#include <cstdlib>

#include "agent/platform/system_root.h"

namespace fettle::run {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::uint64_t peak_bytes() {
  const std::string status = agent::SystemRoot().text("/proc/self/status").value_or("");
  const std::size_t at = status.find("VmHWM:");
  return at == std::string::npos ? 0 : std::strtoull(status.c_str() + at + 6, nullptr, 10) * 1024;
}

}  // namespace

Result<Report> run_network(const RunOptions& options, Clock::time_point start) {
  runtime::NetworkOptions loading = options.loading;
  loading.memory_limit_bytes = options.memory_mib << 20;
  loading.make_accelerator = runtime::make_simulated_network_accelerator;
  auto loaded = runtime::LoadedNetwork::open(options.network, loading);
  if (!loaded) return std::move(loaded).error();
  const std::unique_ptr<runtime::LoadedNetwork> network = std::move(*loaded);
  const wire::NetworkT& description = network->description();
  Report report;
  report.network = description.name;
  report.threads = network->threads();
  report.load_ms = ms_since(start);
  if (options.check) {
    if (auto whole = check_blobs(description, network->file()); !whole) {
      return std::move(whole).error();
    }
  }
  std::vector<std::span<std::uint8_t>> inputs;
  for (std::size_t i = 0; i < description.inputs.size(); ++i) inputs.push_back(network->input(i));
  if (auto filled = fill_inputs(description, options, inputs); !filled) {
    return std::move(filled).error();
  }
  if (auto ran = network->run(); !ran) return std::move(ran).error();
  report.first_result_ms = ms_since(start);
  std::vector<ByteView> outputs;
  for (std::size_t i = 0; i < description.outputs.size(); ++i) {
    outputs.push_back(network->output(i));
  }
  auto classes = deliver_outputs(description, outputs, options);
  if (!classes) return std::move(classes).error();
  report.classes = std::move(*classes);
  auto timing = time_runs(*network, options.loading.cores, options.runs);
  if (!timing) return std::move(timing).error();
  report.timing = std::move(*timing);
  if (options.profile) {
    auto layers = time_layers(*network);
    if (!layers) return std::move(layers).error();
    report.layers = layers_of(description, *layers);
  }
  report.memory = network->memory();
  report.peak_bytes = peak_bytes();
  return report;
}

}  // namespace fettle::run
