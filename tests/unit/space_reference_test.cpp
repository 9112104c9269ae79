// The reference evaluator against plain nested loops, and what its tolerance sees.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <set>

#include "host/model/task_list.h"
#include "host/space/reference.h"
#include "host/space/tolerance.h"
#include "host/space/wire_types.h"
#include "host/space/workload.h"
#include "tests/property/random_workload.h"
#include "tests/support/compare.h"
#include "tests/unit/plain_reference.h"

namespace fettle::space {
namespace {

// Doubles against doubles, both rounded to float, or one to float16: half a unit in the
// last place at most apart, and functions of the tail as far from libm's as they state.
void expect_equal(const Workload& w) {
  const ComputeDag dag = w.dag();
  const auto result = evaluate(dag);
  ASSERT_TRUE(result) << result.error().text();
  ASSERT_EQ(result->size(), 1u);
  const auto plain = testing::plain_reference(*w.call());
  const auto& bytes = result->front().bytes;
  const auto values = testing::as_numbers(bytes, wire_type(result->front().type.scalar));
  ASSERT_EQ(values.size(), plain.size()) << w.canonical();
  const bool half = result->front().type.scalar == ir::Scalar::Float16;
  const double relative = half ? 0x1p-11 : 1e-6, absolute = half ? 0x1p-25 : 1e-12;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const double value = values[i];
    ASSERT_NEAR(value, plain[i], relative * std::fabs(plain[i]) + absolute + dag.tail_error)
        << w.canonical() << " element " << i;
  }
}

TEST(SpaceReference, EqualsPlainLoopsOnSmallWorkloads) {
  const std::uint64_t seed = 7;
  std::printf("seed %llu\n", (unsigned long long)seed);
  std::mt19937_64 rng(seed);
  for (int i = 0; i < 200 && !::testing::Test::HasFatalFailure(); ++i)
    expect_equal(property::random_workload(rng));
}

TEST(SpaceReference, EqualsPlainLoopsOnFullLayers) {
  const auto list = model::load_network("resnet-18");
  ASSERT_TRUE(list);
  ASSERT_EQ(list->tasks.size(), 19u);
  for (const Task& task : list->tasks) expect_equal(task.workload);
}

TEST(SpaceReference, TakesThePlaceholdersItIsGiven) {
  const auto w = Workload::parse(
      nlohmann::json{{"op", "dense"}, {"in_features", 3}, {"out_features", 1}, {"dtype", "int8"}});
  ASSERT_TRUE(w) << w.error().text();
  const ir::Buffer input = w->dag().find(std::string("input"))->buffer;
  const ir::Buffer weight = w->dag().find(std::string("weight"))->buffer;
  const auto both = evaluate(w->dag(), {}, {{input, {1, 2, 3}}, {weight, {10, 20, 0xff}}});
  ASSERT_TRUE(both) << both.error().text();
  EXPECT_EQ(testing::as_numbers(both->front().bytes, wire_type(ir::Scalar::Int32)),
            std::vector<double>{1 * 10 + 2 * 20 - 3});
  const auto filled_weight = filled(weight, w->dag().find(std::string("weight"))->fill);
  ASSERT_TRUE(filled_weight);
  const auto one = evaluate(w->dag(), {}, {{input, {1, 0, 0}}});
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_EQ(testing::as_numbers(one->front().bytes, wire_type(ir::Scalar::Int32)).front(),
            static_cast<std::int8_t>(filled_weight->front()));
  EXPECT_EQ(evaluate(w->dag(), {}, {{input, {1, 2}}}).error().code, ErrorCode::InvalidArgument);
}

// What rounding the factors to TF32 costs is what the growth of errors says, whatever the length.
TEST(SpaceReference, Tf32FactorsAreOffByTheirGrowth) {
  for (const int length : {16, 512, 4608}) {
    const auto w = Workload::parse(nlohmann::json{
        {"op", "dense"}, {"batch", 64}, {"in_features", length}, {"out_features", 64}});
    ASSERT_TRUE(w) << w.error().text();
    ComputeDag rounded = w->dag();
    Stage& sums = rounded.stages.back();
    const auto product = std::get<ir::Binary>(sums.body->node);
    sums.body = ir::unary(ir::UnaryOp::Tf32, product.a) * ir::unary(ir::UnaryOp::Tf32, product.b);
    const auto exact = evaluate(w->dag()), off = evaluate(rounded);
    ASSERT_TRUE(exact && off);
    const auto wire = wire_type(ir::Scalar::Float32);
    const auto expected = testing::as_numbers(exact->front().bytes, wire),
               actual = testing::as_numbers(off->front().bytes, wire);
    double worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      worst = std::max(worst, std::fabs(actual[i] - expected[i]));
    }
    const double allowed = exact->front().tolerance.absolute * tf32_error_growth(w->dag());
    EXPECT_LT(worst, 0.6 * allowed) << length;
    EXPECT_GT(worst, 0.2 * allowed) << length << ": the figure is no blank cheque";
  }
}

// What a check of requantised outputs can see: values at the ends of the range
// hide errors.
TEST(SpaceReference, RequantisedOutputsLieInsideTheirRange) {
  for (
      const char* json :
      {R"({"op":"conv2d","height":14,"width":14,"in_channels":16,"out_channels":24,"kernel":3,"pad":1,"dtype":"int8","tail":["bias","shift_right 10","clip -128 127","cast int8"]})",
       R"({"op":"depthwise_conv2d","height":14,"width":14,"channels":40,"kernel":3,"pad":1,"dtype":"int8","tail":["bias","shift_right 8","clip -128 127","cast int8"]})",
       R"({"op":"dense","batch":8,"in_features":256,"out_features":64,"dtype":"int8","tail":["bias","shift_right 11","clip -128 127","cast int8"]})",
       R"({"op":"conv2d","height":14,"width":14,"in_channels":16,"out_channels":24,"kernel":3,"pad":1,"dtype":"int8","tail":["bias","requantize","clip -128 127","cast int8"]})",
       R"({"op":"dense","batch":8,"in_features":256,"out_features":64,"dtype":"int8","tail":["requantize","add","clip -128 127","cast int8"]})"}) {
    const auto w = Workload::parse(std::string(json));
    ASSERT_TRUE(w) << w.error().text();
    const auto result = evaluate(w->dag());
    ASSERT_TRUE(result) << result.error().text();
    ASSERT_EQ(result->front().type, (ir::DataType{ir::Scalar::Int8, 1}));
    std::size_t inside = 0;
    for (const std::uint8_t byte : result->front().bytes) {
      const auto value = static_cast<std::int8_t>(byte);
      inside += value > -128 && value < 127;
    }
    EXPECT_GE(double(inside), 0.4 * double(result->front().bytes.size())) << json;
    std::set<std::uint8_t> values(result->front().bytes.begin(), result->front().bytes.end());
    EXPECT_GE(values.size(), 100u) << json;
    EXPECT_EQ(result->front().tolerance.absolute, 0);
    expect_equal(*w);
  }
}

// Tails made for values of a network, the published int8 layers' of model/workloads.json
// among them: random ones are made small enough that the clip's ends do not hide them.
TEST(SpaceReference, FillsFitTheTail) {
  struct Row {
    const char *layer, *tail;
    int low, high;
  };
  const char* k64 = R"("op":"conv2d","kernel":1,"in_channels":64)";
  const char* k576 = R"("op":"conv2d","kernel":3,"in_channels":64)";
  const char* k4608 = R"("op":"conv2d","kernel":3,"in_channels":512)";
  const char* published = R"("shift_right 8","clip 0 127","cast int8")";
  const Row rows[] = {
      {k64, published, 0, 127},
      {k576, published, 0, 127},
      {k4608, published, 0, 127},
      {k576, R"("bias","shift_right 8","clip 0 127","cast int8")", 0, 127},
      {k576, R"("bias","shift_right 8","relu","clip -128 127","cast int8")", 0, 127},
      {k576, R"("shift_right 8","bias","clip -128 127","cast int8")", -128, 127},
      {k576, R"("clip 0 1000","shift_right 3")", 0, 125},
      {k4608, R"("shift_right 1","clip -100 100")", -100, 100}};
  for (const Row& row : rows) {
    const std::string text = std::string("{") + row.layer +
                             R"(,"height":7,"width":7,"out_channels":64,"dtype":"int8","tail":[)" +
                             row.tail + "]}";
    const auto w = Workload::parse(text);
    ASSERT_TRUE(w) << w.error().text();
    const auto result = evaluate(w->dag());
    ASSERT_TRUE(result) << result.error().text();
    const auto& tensor = result->front();
    std::size_t inside = 0;
    const std::size_t count = tensor.bytes.size() / std::size_t(tensor.type.bytes());
    for (std::size_t i = 0; i < count; ++i) {
      std::int32_t value = static_cast<std::int8_t>(tensor.bytes[i]);
      if (tensor.type.bytes() == 4) std::memcpy(&value, &tensor.bytes[4 * i], 4);
      inside += value > row.low && value < row.high;
    }
    EXPECT_GE(double(inside), 0.4 * double(count)) << text;
  }
  const auto vanishing = Workload::parse(std::string(
      R"({"op":"dense","in_features":576,"out_features":64,"dtype":"int8","tail":["shift_right 30","clip 0 127","cast int8"]})"));
  ASSERT_FALSE(vanishing);
  EXPECT_EQ(vanishing.error().code, ErrorCode::Unsupported);
  EXPECT_NE(vanishing.error().message.find("shift_right 30"), std::string::npos);
}

TEST(SpaceReference, AMissingTermIsOutsideTheTolerance) {
  for (const std::int64_t k : {9, 576, 4608, 65536}) {
    const auto w =
        Workload::parse(nlohmann::json{{"op", "dense"}, {"in_features", k}, {"out_features", 1}});
    ASSERT_TRUE(w);
    const double smallest_term = 0.25 * 0.25 / std::sqrt(double(k));
    // Outputs are O(1): several standard deviations of a sum of K terms of that size.
    const Tolerance t = tolerance_of(w->dag());
    EXPECT_LT(t.absolute + t.relative * 3, smallest_term) << k;
  }
}

TEST(SpaceReference, AnIndexOutsideIsRefused) {
  const auto w =
      Workload::parse(nlohmann::json{{"op", "dense"}, {"in_features", 4}, {"out_features", 2}});
  ComputeDag dag = w->dag();
  Stage& dense = dag.stages.back();
  dense.reduce_axes[0].extent = 5;  // one past the end of input and weight
  EXPECT_FALSE(evaluate(dag));
}

}  // namespace
}  // namespace fettle::space
