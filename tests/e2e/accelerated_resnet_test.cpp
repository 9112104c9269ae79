// ResNet-18 in int8, its convolutions on the simulated accelerator: every byte of its answer is
// that of the reference, which computes it in integers node by node.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "host/backend/vta/design_target.h"
#include "host/model/graph/node_stages.h"
#include "host/model/pieces/onnx_tasks.h"
#include "host/model/zoo/zoo.h"
#include "host/network/build_network.h"
#include "runtime/network/loaded_network.h"
#include "schemas/network/network_file.h"
#include "tests/support/native_run.h"
#include "tests/support/quantized_network.h"
#include "tests/support/running_program.h"

namespace fettle::network {
namespace {

TEST(AcceleratedResnet, EveryByteIsTheReferences) {
  testing::ScratchFolder folder;
  const std::string path = folder.file("resnet.onnx");
  ASSERT_TRUE(model::write_zoo_network(*model::find_in_zoo("resnet-18"), 1, path,
                                       model::ZooNumbers::PowersOfTwo));
  auto graph = model::load_onnx_graph(path, {}, true);
  ASSERT_TRUE(graph) << graph.error().text();
  // The scores as bytes: the softmax behind them is of floats.
  for (const model::Node& node : graph->nodes) {
    if (node.op == "DequantizeLinear") graph->outputs = {node.inputs[0]};
  }
  ASSERT_EQ(graph->type(graph->outputs[0]).scalar, ir::Scalar::Int8);
  const Schedules rest(testing::native_target().target()),
      beside(vta::host::DesignTarget{vta::designs().front(), std::int64_t{64} << 20}.target());
  const auto bindings =
      model::bind(*graph, model::pieces_of(*graph, [&](const space::Workload& workload) {
        return backend::open_task(workload, beside.target()).ok();
      }));
  ASSERT_TRUE(bindings) << bindings.error().text();
  const auto alternatives = compile_pieces(*bindings, {rest, &beside}, 1, 2, {}, {});
  ASSERT_TRUE(alternatives) << alternatives.error().text();
  auto linked = link(*graph, *bindings, first_of(*alternatives), rest.target());
  ASSERT_TRUE(linked) << linked.error().text();
  // All but the first of the twenty convolutions.
  EXPECT_EQ(std::count_if(linked->network.layers.begin(), linked->network.layers.end(),
                          [](const auto& layer) { return !layer->target.empty(); }),
            19);
  std::vector<ByteView> contents;
  for (const auto& blob : linked->blobs) contents.push_back(blob.bytes);
  std::ostringstream out;
  ASSERT_TRUE(write_network_file(std::move(linked->network), contents, out));
  const std::string text = out.str();
  const Bytes file(text.begin(), text.end());
  runtime::NetworkOptions options;
  options.make_accelerator = runtime::make_simulated_network_accelerator;
  auto loaded = runtime::LoadedNetwork::load(file, options);
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  const auto x = testing::bytes_of(testing::random_numbers(3 * 224 * 224, 11, 2));
  const auto input = (*loaded)->input(0);
  ASSERT_EQ(input.size(), x->size());
  std::copy(x->begin(), x->end(), input.begin());
  ASSERT_TRUE((*loaded)->run().ok());
  const auto right = model::evaluate_graph(*graph, {x});
  ASSERT_TRUE(right) << right.error().text();
  const auto ours = (*loaded)->output(0);
  EXPECT_TRUE(std::equal(ours.begin(), ours.end(), (*right)[0]->begin(), (*right)[0]->end()));
  EXPECT_EQ(ours.size(), 1000u);
  EXPECT_GT(std::set<std::uint8_t>(ours.begin(), ours.end()).size(), 20u)
      << "an answer that says little";
}

}  // namespace
}  // namespace fettle::network
