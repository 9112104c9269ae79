// A network file in memory, loaded and run (cpu_evaluator.h).
#include "host/app/cpu_evaluator.h"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <thread>

#include "host/backend/cpu_llvm/host_cpu.h"
#include "runtime/network/loaded_network.h"
#include "schemas/network/network_file.h"

namespace fettle::app {
namespace {

struct Loaded {
  std::string file;  // which the network reads
  std::unique_ptr<runtime::LoadedNetwork> network;
  std::vector<std::size_t> inputs;  // of the sample, by the network's place
};

Result<std::string> network_file(const network::LinkedNetwork& linked) {
  std::vector<ByteView> contents;
  for (const auto& blob : linked.blobs) contents.push_back(blob.bytes);
  std::ostringstream out;
  if (auto written = write_network_file(linked.network, contents, out); !written) {
    return std::move(written).error();
  }
  return std::move(out).str();
}

Result<std::vector<model::TensorBytes>> evaluate(Loaded& loaded, const model::Sample& sample) {
  runtime::LoadedNetwork& network = *loaded.network;
  for (std::size_t i = 0; i < loaded.inputs.size(); ++i) {
    const auto to = network.input(i);
    std::memcpy(to.data(), sample[loaded.inputs[i]]->data(), to.size());
  }
  if (auto ran = network.run(); !ran) return std::move(ran).error();
  std::vector<model::TensorBytes> outputs;
  for (std::size_t i = 0; i < network.description().outputs.size(); ++i) {
    const auto made = network.output(i);
    outputs.push_back(std::make_shared<const std::vector<std::uint8_t>>(made.begin(), made.end()));
  }
  return outputs;
}

}  // namespace

Result<model::Evaluator> cpu_evaluator(
    const model::Graph& graph, const std::stop_token& stop,
    const std::function<void(const network::BuildProgress&)>& progress) {
  const unsigned threads = std::max(std::thread::hardware_concurrency(), 1u);
  space::CpuTarget target = backend::cpu_llvm::host_target();
  target.threads = static_cast<int>(threads);
  const network::Schedules schedules(target.target());
  auto bindings = model::bind(graph, model::pieces_of(graph));
  if (!bindings) return std::move(bindings).error();
  auto built = network::compile_pieces(*bindings, schedules, 1, threads, stop, progress);
  if (!built) return std::move(built).error();
  const auto linked =
      network::link(graph, *bindings, network::first_of(*built), schedules.target(), stop);
  if (!linked) return linked.error();
  auto file = network_file(*linked);
  if (!file) return std::move(file).error();
  const auto loaded = std::make_shared<Loaded>();
  loaded->file = std::move(*file);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(loaded->file.data());
  auto network = runtime::LoadedNetwork::load({bytes, loaded->file.size()}, {});
  if (!network) return std::move(network).error();
  loaded->network = std::move(*network);
  for (const auto& input : loaded->network->description().inputs) {
    const auto at = std::find_if(graph.inputs.begin(), graph.inputs.end(), [&](model::ValueId id) {
      return graph.values[id].name == input->name;
    });
    loaded->inputs.push_back(static_cast<std::size_t>(at - graph.inputs.begin()));
  }
  using Values = Result<std::vector<model::TensorBytes>>;
  return model::Evaluator([loaded, stop](const model::Sample& sample) -> Values {
    if (stop.stop_requested()) return Error{ErrorCode::Canceled, "stopped"};
    return evaluate(*loaded, sample);
  });
}

}  // namespace fettle::app
