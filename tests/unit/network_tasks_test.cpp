// Tasks that a network's nodes become, where the library has no operator for them: right kernels
// pass as trials do, however long their sums.
#include <cmath>
#include <random>

#include "host/backend/backend.h"
#include "host/space/reference.h"
#include "tests/support/compare.h"
#include "tests/support/native_run.h"
#include "tests/support/network_agrees.h"

namespace fettle::network {
namespace {

using Model = testing::OnnxModel;
using Shape = std::vector<std::int64_t>;

class NetworkTasks : public testing::NetworkAgrees {
 protected:
  // x through one node, `weights` its other inputs.
  void trials_pass(
      const std::string& op, const Shape& x, const std::vector<Shape>& weights,
      const std::function<void(onnx::NodeProto&)>& change = [](onnx::NodeProto&) {}) {
    SCOPED_TRACE(op);
    Model model;
    model.opset(17);
    model.input("x", x);
    std::vector<std::string> inputs = {"x"};
    for (const Shape& shape : weights) {
      inputs.push_back("w" + std::to_string(inputs.size()));
      model.weights(inputs.back(), shape);
    }
    model.whole_numbers("zero", {}, {0});
    change(model.node(op, inputs, "y"));
    model.output("y");
    const auto graph = imported(model.text());
    ASSERT_TRUE(graph) << graph.error().text();
    const auto bindings = model::bind(*graph, model::pieces_of(*graph));
    ASSERT_TRUE(bindings) << bindings.error().text();
    for (const model::BoundPiece& piece : bindings->pieces) check(piece.workload);
  }

 private:
  static void check(const space::Workload& workload) {
    SCOPED_TRACE(workload.title());
    const auto task = backend::open_task(workload.dag(), testing::native_target().target());
    ASSERT_TRUE(task.ok()) << task.error().text();
    const auto expected = space::evaluate(workload.dag());
    ASSERT_TRUE(expected.ok() && expected->size() == 1);
    const space::ExpectedTensor& right = expected->front();
    const auto numbers = testing::as_floats(right.bytes);
    std::mt19937_64 rng(3);
    for (int trial = 0; trial < 3; ++trial) {
      const auto built = (*task)->build((*task)->space().random(rng));
      ASSERT_TRUE(built.ok()) << built.error().text();
      const auto buffers = testing::run_natively(*built->program);
      ASSERT_TRUE(buffers.ok()) << buffers.error().text();
      for (std::size_t b = 0; b < buffers->size(); ++b) {
        if (built->program->buffers[b]->role != wire::BufferRole::Output) continue;
        const auto made = testing::as_floats((*buffers)[b]);
        ASSERT_EQ(made.size(), numbers.size());
        for (std::size_t i = 0; i < made.size(); ++i) {
          const double allowed =
              right.tolerance.absolute + right.tolerance.relative * std::fabs(double{numbers[i]});
          ASSERT_NEAR(made[i], numbers[i], allowed) << i;
        }
      }
    }
  }
};

TEST_F(NetworkTasks, RightKernelsPassHoweverLongTheirSums) {
  const auto keep_none = [](auto& node) { Model::integer(node, "keepdims", 0); };
  trials_pass("Conv", {1, 128, 30}, {{16, 128, 3}});
  trials_pass("Conv", {1, 32, 5, 6, 5}, {{8, 32, 3, 3, 3}});
  trials_pass("ConvTranspose", {1, 128, 20}, {{128, 8, 3}});
  trials_pass("MatMul", {4, 9, 512}, {{512}});
  trials_pass("MatMul", {2, 3, 9, 512}, {{3, 512, 16}});
  trials_pass("Einsum", {4, 9, 512}, {{4, 512, 8}},
              [](auto& node) { Model::word(node, "equation", "bij,bjk->bik"); });
  trials_pass("ReduceSumSquare", {600, 24}, {}, keep_none);
  trials_pass("ReduceL2", {600, 24}, {}, keep_none);
  trials_pass("CumSum", {512, 6}, {}, [](auto& node) { node.add_input("zero"); });
  trials_pass("ReduceL1", {24, 600}, {}, keep_none);
}

}  // namespace
}  // namespace fettle::network
