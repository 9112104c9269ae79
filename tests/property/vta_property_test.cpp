// Programs for VTA against the reference: random configurations of ResNet-18's layers, of random
// small products and of max pooling, run on the simulator, equal it bit for bit; they pass the
// verifier and are determined; and no token of theirs can be left out.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include <nlohmann/json.hpp>

#include "fpga/isa/disassemble.h"
#include "fpga/isa/queues.h"
#include "host/backend/vta/pooling.h"
#include "host/backend/vta/stream.h"
#include "host/model/task_list.h"
#include "host/space/reference.h"
#include "tests/support/vta_device.h"

namespace fettle::vta::host {
namespace {

struct Case {
  Product product;
  space::SearchSpace space;
  Bytes expected;
};

Case case_of(const space::ComputeDag& dag, const Design& design) {
  Product product = product_of(dag, design).value();
  space::SearchSpace space({sketch_of(product, design).value()});
  return {std::move(product), std::move(space), space::evaluate(dag).value().front().bytes};
}

// The program passes the verifier, and its output is `expected`.
void check_program(const std::vector<ir::ProgramBuffer>& buffers, Result<Generated> generated,
                   const Design& design, const Bytes& expected, bool determined) {
  ASSERT_TRUE(generated) << generated.error().text();
  auto stream = finish_stream(design, std::move(generated->code));
  ASSERT_TRUE(stream) << stream.error().text();
  const wire::ProgramT program = program_of(buffers, design, *stream);
  testing::VtaMemory memory(design, program);
  const auto verified = memory.verify();
  ASSERT_TRUE(verified) << verified.error().text();
  EXPECT_EQ(verified->gemm_steps, stream->facts.gemm_steps);
  if (determined) {
    const auto checked = memory.check_determined();
    ASSERT_TRUE(checked) << checked.error().text();
  }
  const auto run = memory.run();
  ASSERT_TRUE(run) << run.error().text();
  for (const ir::ProgramBuffer& each : buffers) {
    if (each.role != ir::Role::Output) continue;
    const ByteView output = memory.buffer(each.buffer->name);
    const auto differs = std::mismatch(output.begin(), output.end(), expected.begin());
    EXPECT_EQ(differs.first - output.begin(), static_cast<std::ptrdiff_t>(expected.size()))
        << "the first byte that differs";
  }
}

void check(const Case& of, const Design& design, const space::Configuration& configuration,
           bool determined) {
  SCOPED_TRACE(of.space.to_json(configuration));
  check_program(of.product.buffers,
                generate(of.product, design, tiling_of(of.space, configuration)), design,
                of.expected, determined);
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  int number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }
  int one_of(std::initializer_list<int> values) {
    return values.begin()[number(0, static_cast<int>(values.size()) - 1)];
  }
  std::mt19937_64& engine() { return engine_; }

 private:
  std::mt19937_64 engine_;
};

nlohmann::json random_tail(Dice& dice) {
  nlohmann::json tail = nlohmann::json::array();
  if (dice.number(0, 2) == 0) tail.push_back("bias");
  const int add = dice.number(0, 5);
  if (add == 0) tail.push_back("add");
  if (dice.number(0, 5) != 0) tail.push_back("shift_right " + std::to_string(dice.number(3, 9)));
  if (add == 1) tail.push_back("add");
  if (dice.number(0, 3) == 0) tail.push_back("relu");
  tail.push_back(dice.number(0, 1) ? "clip 0 127" : "clip -100 90");
  tail.push_back("cast int8");
  return tail;
}

space::Workload random_convolution(Dice& dice) {
  for (;;) {
    const int kernel_y = dice.number(1, 4), kernel_x = dice.number(1, 4);
    const nlohmann::json json = {
        {"op", "conv2d"},
        {"layout", "NCHW1n16c"},
        {"dtype", "int8"},
        {"batch", dice.one_of({1, 1, 1, 2})},
        {"height", dice.number(1, 13)},
        {"width", dice.number(1, 13)},
        {"in_channels", 16 * dice.number(1, 4)},
        {"out_channels", 16 * dice.number(1, 4)},
        {"kernel", {kernel_y, kernel_x}},
        {"stride", {dice.one_of({1, 1, 2, 3}), dice.one_of({1, 1, 2, 3})}},
        {"pad", {dice.number(0, kernel_y - 1), dice.number(0, kernel_x - 1)}},
        {"dilation", {dice.one_of({1, 1, 2}), dice.one_of({1, 1, 2})}},
        {"tail", random_tail(dice)},
    };
    auto workload = space::Workload::parse(json);
    if (workload) return std::move(*workload);
  }
}

space::Workload random_dense(Dice& dice) {
  for (;;) {
    auto workload = space::Workload::parse(nlohmann::json{{"op", "dense"},
                                                          {"layout", "1n16c"},
                                                          {"dtype", "int8"},
                                                          {"batch", dice.number(1, 9)},
                                                          {"in_features", 16 * dice.number(1, 9)},
                                                          {"out_features", 16 * dice.number(1, 9)},
                                                          {"tail", random_tail(dice)}});
    if (workload) return std::move(*workload);
  }
}

space::Workload random_pooling(Dice& dice) {
  for (;;) {
    const int kernel_y = dice.number(1, 4), kernel_x = dice.number(1, 4);
    auto workload = space::Workload::parse(
        nlohmann::json{{"op", "max_pool2d"},
                       {"layout", "NCHW1n16c"},
                       {"dtype", "int8"},
                       {"batch", dice.one_of({1, 1, 2})},
                       {"height", dice.number(1, 19)},
                       {"width", dice.number(1, 19)},
                       {"channels", 16 * dice.number(1, 3)},
                       {"kernel", {kernel_y, kernel_x}},
                       {"stride", {dice.one_of({1, 2, 2, 3}), dice.one_of({1, 2, 2, 3})}},
                       {"pad", {dice.number(0, kernel_y - 1), dice.number(0, kernel_x - 1)}}});
    if (workload) return std::move(*workload);
  }
}

TEST(VtaPrograms, RandomPoolingsEqualTheReference) {
  Dice dice(5);
  for (const char* name : {"pynq", "vta-stock"}) {
    const Design design = find_design(name).value();
    int checked = 0;
    for (int i = 0; i < 60; ++i) {
      const space::Workload workload = random_pooling(dice);
      SCOPED_TRACE(name + (" " + workload.source()));
      const auto pooling = pooling_of(workload.dag(), design);
      ASSERT_TRUE(pooling) << pooling.error().text();
      auto sketch = sketch_of(*pooling, design);
      if (!sketch) continue;  // too small for the stock core's pipeline
      const space::SearchSpace space({std::move(*sketch)});
      const Bytes expected = space::evaluate(workload.dag()).value().front().bytes;
      for (int k = 0; k < 2; ++k, ++checked) {
        const space::Configuration configuration = space.random(dice.engine());
        SCOPED_TRACE(space.to_json(configuration));
        check_program(pooling->buffers,
                      generate(*pooling, design, pooling_tiling_of(space, configuration)), design,
                      expected, true);
        if (HasFailure()) return;
      }
    }
    EXPECT_GT(checked, 40) << name;
  }
}

TEST(VtaPrograms, RandomSmallProductsEqualTheReference) {
  Dice dice(20261123);
  for (const char* name : {"pynq", "vta-stock"}) {
    const Design design = find_design(name).value();
    int checked = 0;
    for (int i = 0; i < 90; ++i) {
      const space::Workload workload = i % 5 == 0 ? random_dense(dice) : random_convolution(dice);
      SCOPED_TRACE(name + (" " + workload.source()));
      const auto product = product_of(workload.dag(), design);
      ASSERT_TRUE(product) << product.error().text();
      if (!sketch_of(*product, design)) continue;  // too small for the stock core's pipeline
      const Case small = case_of(workload.dag(), design);
      for (int k = 0; k < 2; ++k, ++checked) {
        const space::Configuration configuration = small.space.random(dice.engine());
        ASSERT_TRUE(small.space.contains(configuration));
        check(small, design, configuration, true);
        if (HasFailure()) return;
      }
    }
    std::printf("%s: %d programs\n", name, checked);
    EXPECT_GT(checked, 100) << name;
  }
}

TEST(VtaPrograms, TheTenLayersEqualTheReference) {
  Dice dice(7);
  const Design design = find_design("pynq").value();
  const auto list = model::load_network("resnet-18-vta");
  ASSERT_TRUE(list) << list.error().text();
  ASSERT_EQ(list->tasks.size(), 10u);
  for (const space::Task& task : list->tasks) {
    SCOPED_TRACE(task.workload.title());
    const Case layer = case_of(task.workload.dag(), design);
    for (int k = 0; k < 8; ++k) {
      check(layer, design, layer.space.random(dice.engine()), k == 0);
      if (HasFailure()) return;
    }
  }
}

// Each token is needed: without its pop and its push the program is not determined, or does not end
// as it should.
TEST(VtaPrograms, NoTokenCanBeLeftOut) {
  Dice dice(3);
  const Design design = find_design("pynq").value();
  std::size_t dropped = 0;
  for (int i = 0; i < 12; ++i) {
    const space::Workload workload = random_convolution(dice);
    SCOPED_TRACE(workload.source());
    const Case small = case_of(workload.dag(), design);
    auto generated =
        generate(small.product, design, tiling_of(small.space, small.space.random(dice.engine())));
    auto stream = finish_stream(design, std::move(generated->code));
    ASSERT_TRUE(stream) << stream.error().text();
    const wire::ProgramT program = program_of(small.product.buffers, design, *stream);
    testing::VtaMemory memory(design, program);
    const std::vector<Word> words = memory.words;
    // The bits of each queue's tokens, in their order.
    std::map<TokenQueue, std::vector<std::pair<std::size_t, int>>> pushes, pops;
    for (std::size_t at = 0; at < stream->instructions.size(); ++at) {
      const Tokens& tokens = stream->instructions[at].tokens;
      const Neighbours near = neighbours_of(unit_of(stream->instructions[at]));
      if (tokens.pop_prev) pops[*near.pop_prev].emplace_back(at, 3);
      if (tokens.pop_next) pops[*near.pop_next].emplace_back(at, 4);
      if (tokens.push_prev) pushes[*near.push_prev].emplace_back(at, 5);
      if (tokens.push_next) pushes[*near.push_next].emplace_back(at, 6);
    }
    for (const auto& [queue, given] : pushes) {
      ASSERT_EQ(given.size(), pops[queue].size()) << name_of(queue);
      for (int k = 0; k < 4; ++k) {
        const std::size_t nth = static_cast<std::size_t>(dice.number(0, 1 << 20)) % given.size();
        memory.words = words;
        memory.words[given[nth].first].low &= ~(std::uint64_t{1} << given[nth].second);
        const auto& taken = pops[queue][nth];
        memory.words[taken.first].low &= ~(std::uint64_t{1} << taken.second);
        EXPECT_FALSE(memory.verify() && memory.check_determined())
            << "token " << nth << " " << name_of(queue) << ", from instruction "
            << disassemble(stream->instructions[given[nth].first]) << " to "
            << disassemble(stream->instructions[taken.first]);
        ++dropped;
      }
    }
  }
  EXPECT_GT(dropped, 100u);
}

}  // namespace
}  // namespace fettle::vta::host
