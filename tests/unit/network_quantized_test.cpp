// Quantised networks compiled for this CPU: every byte is the reference's.
#include <gtest/gtest.h>

#include "host/model/passes/passes.h"
#include "host/model/passes/quantized.h"
#include "host/model/pieces/bindings.h"
#include "host/network/build_network.h"
#include "tests/support/native_run.h"
#include "tests/support/network_run.h"
#include "tests/support/quantized_network.h"

namespace fettle::network {
namespace {

class NetworkQuantized : public testing::OnnxNetworkTest {
 protected:
  model::Graph graph(bool power_of_two) {
    auto made = testing::quantized_network(folder.file("q.onnx"), x, power_of_two);
    EXPECT_TRUE(made) << made.error().text();
    EXPECT_TRUE(model::run_passes(*made));
    return std::move(*made);
  }
  static std::vector<std::string> titles(const model::Graph& graph) {
    std::vector<std::string> out;
    const model::Pieces cut = model::pieces_of(graph);
    EXPECT_TRUE(cut.untuned.empty());
    for (const model::Piece& piece : cut.pieces) out.push_back(piece.workload.title());
    return out;
  }
  void agrees(const model::Graph& graph) {
    const Schedules schedules(testing::native_target().target());
    const auto bindings = model::bind(graph, model::pieces_of(graph));
    ASSERT_TRUE(bindings) << bindings.error().text();
    const auto alternatives = compile_pieces(*bindings, schedules, 1, 2, {}, {});
    ASSERT_TRUE(alternatives) << alternatives.error().text();
    const auto linked = link(graph, *bindings, first_of(*alternatives), schedules.target());
    ASSERT_TRUE(linked) << linked.error().text();
    const auto ours = testing::run_network(*linked, {*x});
    ASSERT_TRUE(ours) << ours.error().text();
    const auto right = model::evaluate_graph(graph, {x});
    ASSERT_TRUE(right) << right.error().text();
    ASSERT_EQ(ours->size(), right->size());
    for (std::size_t o = 0; o < ours->size(); ++o) EXPECT_EQ((*ours)[o], *(*right)[o]) << o;
  }
  model::TensorBytes x = testing::bytes_of(testing::random_numbers(8 * 144, 5, 2));
};

TEST_F(NetworkQuantized, PiecesOfInt8AnswerAsTheReference) {
  const model::Graph network = graph(false);
  const auto pieces = titles(network);
  for (const char* expected : {"conv2d 12x12x8→8 k3 s1 int8 +bias+requantize+clip 0 127+cast int8",
                               "max_pool2d 12x12x8 k2 s2 int8",
                               "conv2d 6x6x8→8 k3 s1 int8 +bias+requantize+clip -128 127+cast int8",
                               "conv2d 6x6x8→8 k1 s1 int8 +requantize+clip -128 127+cast int8",
                               "dense 8→10 int8 +bias+requantize+clip -128 127+cast int8"}) {
    EXPECT_EQ(std::count(pieces.begin(), pieces.end(), expected), 1) << expected;
  }
  agrees(network);
}

TEST_F(NetworkQuantized, ShiftsAndResidualsAreTails) {
  model::Graph network = graph(true);
  model::round_halves_up(network);
  int residuals = 0;
  for (const std::string& title : titles(network)) {
    residuals += title.find("+add+clip 0 127+cast int8") != std::string::npos;
    EXPECT_EQ(title.find("requantize"), std::string::npos) << title;
  }
  EXPECT_EQ(residuals, 1);
  agrees(network);
}

}  // namespace
}  // namespace fettle::network
