// A quantised network on a CPU with an accelerator beside it: who computes what, how values lie in
// between, and that every byte is the reference's.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "host/backend/vta/design_target.h"
#include "host/model/passes/passes.h"
#include "host/model/passes/quantized.h"
#include "host/network/build_network.h"
#include "runtime/network/loaded_network.h"
#include "schemas/network/network_file.h"
#include "tests/support/native_run.h"
#include "tests/support/quantized_network.h"

namespace fettle::network {
namespace {

space::Target accelerator() {
  return vta::host::DesignTarget{vta::designs().front(), std::int64_t{64} << 20}.target();
}

bool accelerates(const space::Workload& workload) {
  return backend::open_task(workload, accelerator()).ok();
}

class NetworkAccelerator : public testing::OnnxNetworkTest {
 protected:
  model::Graph graph(std::int64_t channels) {
    x = testing::bytes_of(testing::random_numbers(static_cast<std::size_t>(channels) * 144, 5, 2));
    auto made = testing::quantized_network(folder.file("q.onnx"), x, true, channels);
    EXPECT_TRUE(made) << made.error().text();
    EXPECT_TRUE(model::run_passes(*made));
    model::round_halves_up(*made);
    return std::move(*made);
  }
  static model::Bindings bound(const model::Graph& graph) {
    auto bindings = model::bind(graph, model::pieces_of(graph, accelerates));
    EXPECT_TRUE(bindings) << bindings.error().text();
    return std::move(*bindings);
  }
  static std::vector<std::string> accelerated(const model::Bindings& bindings) {
    std::vector<std::string> out;
    for (const space::Task& task : model::tasks_of("", bindings, true).tasks) {
      out.push_back(task.workload.title());
    }
    return out;
  }
  // The network's file, as it is shipped.
  static Bytes file_of(LinkedNetwork linked) {
    std::vector<ByteView> contents;
    for (const auto& blob : linked.blobs) contents.push_back(blob.bytes);
    std::ostringstream out;
    EXPECT_TRUE(write_network_file(std::move(linked.network), contents, out));
    const std::string text = out.str();
    return {text.begin(), text.end()};
  }
  model::TensorBytes x;
};

TEST_F(NetworkAccelerator, ConvolutionsOfWholeBlocksAreItsPart) {
  const model::Bindings bindings = bound(graph(32));
  const auto titles = accelerated(bindings);
  const char* const kBlocks = "NCHW1n16c";
  EXPECT_EQ(titles.size(), 4u);  // three convolutions, and the pooling between them
  for (const std::string& title : titles)
    EXPECT_NE(title.find(kBlocks), std::string::npos) << title;
  for (const space::Task& task : model::tasks_of("", bindings).tasks) {
    EXPECT_EQ(task.workload.title().find(kBlocks), std::string::npos) << task.workload.title();
  }
}

TEST_F(NetworkAccelerator, ChannelsThatAreNoBlocksAreTheCpus) {
  EXPECT_TRUE(accelerated(bound(graph(8))).empty());
}

TEST_F(NetworkAccelerator, WithoutShiftsTheCpuDoesAll) {
  x = testing::bytes_of(testing::random_numbers(16 * 144, 5, 2));
  auto network = testing::quantized_network(folder.file("q.onnx"), x, false, 16);
  ASSERT_TRUE(network) << network.error().text();
  ASSERT_TRUE(model::run_passes(*network));
  model::round_halves_up(*network);
  EXPECT_TRUE(accelerated(bound(*network)).empty());
}

TEST_F(NetworkAccelerator, EveryByteIsTheReferences) {
  for (const std::int64_t channels : {16, 48}) {
    const model::Graph network = graph(channels);
    const model::Bindings bindings = bound(network);
    const Schedules rest(testing::native_target().target()), beside(accelerator());
    const auto alternatives = compile_pieces(bindings, {rest, &beside}, 1, 2, {}, {});
    ASSERT_TRUE(alternatives) << alternatives.error().text();
    auto linked = link(network, bindings, first_of(*alternatives), rest.target());
    ASSERT_TRUE(linked) << linked.error().text();
    const auto on_accelerator =
        std::count_if(linked->network.layers.begin(), linked->network.layers.end(),
                      [](const auto& layer) { return layer->target == accelerator().canonical(); });
    EXPECT_EQ(on_accelerator, 4);
    const Bytes file = file_of(std::move(*linked));
    runtime::NetworkOptions options;
    options.threads = 1;
    options.make_accelerator = runtime::make_simulated_network_accelerator;
    auto loaded = runtime::LoadedNetwork::load(file, options);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    for (int run = 0; run < 2; ++run) {  // what a run leaves behind would show
      const auto input = (*loaded)->input(0);
      ASSERT_EQ(input.size(), x->size());
      std::copy(x->begin(), x->end(), input.begin());
      ASSERT_TRUE((*loaded)->run().ok());
      const auto right = model::evaluate_graph(network, {x});
      ASSERT_TRUE(right) << right.error().text();
      for (std::size_t o = 0; o < right->size(); ++o) {
        const auto ours = (*loaded)->output(o);
        EXPECT_TRUE(std::equal(ours.begin(), ours.end(), (*right)[o]->begin(), (*right)[o]->end()))
            << channels << " channels, output " << o;
      }
    }
  }
}

TEST_F(NetworkAccelerator, ItsPartNeedsItsSchedules) {
  const model::Bindings bindings = bound(graph(16));
  const Schedules rest(testing::native_target().target());
  const auto refused = compile_pieces(bindings, rest, 1, 1, {}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Internal);
}

}  // namespace
}  // namespace fettle::network
