// Layers opened (layer.h).
#include "tests/bench/vta/layer.h"

#include <algorithm>

#include "host/backend/vta/computation.h"
#include "host/backend/vta/design_target.h"
#include "host/model/task_list.h"
#include "host/space/reference.h"

namespace fettle::bench {
namespace {

Result<void> open(const std::string& network, const vta::Design& design, VtaLayer& layer) {
  auto computation = vta::host::computation_of(layer.workload.dag(), design);
  if (!computation) return std::move(computation).error();
  auto task = backend::open_task(layer.workload.dag(), vta::host::DesignTarget{design}.target());
  if (!task) return std::move(task).error();
  layer.task = std::move(*task);
  layer.bound = (*computation)->bound();
  if (const auto product = vta::host::product_of(layer.workload.dag(), design)) {
    layer.multiply_adds =
        static_cast<double>(product->products()) * static_cast<double>(design.macs_per_uop());
  }
  layer.published_gops = model::published_gops(network, layer.workload);
  return {};
}

}  // namespace

Result<std::vector<VtaLayer>> layers_of(const std::string& network,
                                        const std::vector<std::string>& wanted,
                                        const vta::Design& design) {
  auto list = network.ends_with(".json") ? model::load_workload_file(network)
                                         : model::load_network(network);
  if (!list) return std::move(list).error();
  std::vector<VtaLayer> layers;
  for (const space::Task& task : list->tasks) {
    const std::string title = task.workload.title();
    if (!wanted.empty() && std::none_of(wanted.begin(), wanted.end(), [&](const auto& part) {
          return title.find(part) != title.npos;
        })) {
      continue;
    }
    VtaLayer& layer = layers.emplace_back();
    layer.title = title;
    layer.workload = task.workload;
    if (auto opened = open(network, design, layer); !opened) layer.missing = opened.error().text();
  }
  return layers;
}

Result<const Answers::Answer*> Answers::of(std::size_t layer) {
  Kept& kept = kept_[layer];
  std::call_once(kept.once, [&] {
    auto tensors = space::evaluate(layers_[layer].workload.dag());
    if (tensors) {
      kept.answer = Answer{tensors->front().name, std::move(tensors->front().bytes)};
    } else {
      kept.answer = std::move(tensors).error();
    }
  });
  if (!kept.answer) return kept.answer.error();
  return &*kept.answer;
}

}  // namespace fettle::bench
