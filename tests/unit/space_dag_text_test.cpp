// Compute DAGs as text: what a task's key is, what users state, and what is refused.
#include <gtest/gtest.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "host/space/dag_text/dag_json.h"
#include "host/space/dag_text/expression_parser.h"
#include "host/space/dag_text/expression_printer.h"
#include "host/space/reference.h"
#include "host/space/tensor.h"
#include "host/space/workload.h"

namespace fettle::space {
namespace {

using Json = nlohmann::json;

const char* const kOperators[] = {
    R"j({"op":"conv2d","height":9,"width":8,"in_channels":4,"out_channels":8,"kernel":3,"pad":1,"tail":["bias","add","relu"]})j",
    R"j({"op":"conv2d","layout":"NCHW","height":9,"width":8,"in_channels":4,"out_channels":8,"groups":2,"kernel":[3,1],"stride":[1,2],"dilation":2,"pad":1})j",
    R"j({"op":"conv2d","height":5,"width":5,"in_channels":8,"out_channels":8,"kernel":1,"dtype":"int8","tail":["bias","shift_right 8","clip -128 127","cast int8"]})j",
    R"j({"op":"depthwise_conv2d","height":9,"width":8,"channels":8,"kernel":3,"pad":1,"tail":["bias","relu6"]})j",
    R"j({"op":"conv3d","depth":4,"height":5,"width":5,"in_channels":3,"out_channels":8,"kernel":[2,3,3],"pad":[0,1,1]})j",
    R"j({"op":"conv2d_transpose","height":4,"width":5,"in_channels":4,"out_channels":8,"kernel":4,"stride":2,"pad":1})j",
    R"j({"op":"dense","batch":3,"in_features":20,"out_features":12,"tail":["bias","gelu"]})j",
    R"j({"op":"batch_matmul","batch":2,"m":4,"n":6,"k":8,"tail":["tanh"]})j",
    R"j({"op":"batch_matmul","batch":2,"m":4,"n":6,"k":8,"allow_tf32":true})j",
    R"j({"op":"max_pool2d","height":8,"width":8,"channels":4,"kernel":3,"stride":2,"pad":1})j",
    R"j({"op":"avg_pool2d","height":8,"width":8,"channels":4,"kernel":3,"pad":1,"dtype":"int8"})j",
    R"j({"op":"global_avg_pool2d","height":7,"width":7,"channels":5})j",
    R"j({"op":"softmax","batch":3,"features":37})j",
    R"j({"op":"layer_norm","batch":2,"features":40})j",
    R"j({"op":"reduce","function":"mean","shape":[3,4,5],"axes":[1],"dtype":"float16"})j",
    R"j({"op":"reduce","function":"max","shape":[6,50],"axes":[1],"dtype":"int8"})j",
    R"j({"op":"elementwise","function":"multiply","shape":[4,5],"shape_b":[5],"tail":["sigmoid"]})j",
    R"j({"op":"pad","shape":[4,5],"before":[1,0],"after":[0,2],"value":3})j",
    R"j({"op":"transpose","shape":[4,5,6],"permutation":[2,0,1]})j"};

// A dilated depthwise convolution with swish, as a user states it.
const char* const kOwn = R"j({"title": "dilated depthwise with swish", "stages": [
  {"name": "image", "role": "input", "axes": [["n", 1], ["y", 12], ["x", 10], ["c", 8]]},
  {"name": "weights", "role": "constant", "axes": [["ky", 3], ["kx", 3], ["c", 8]]},
  {"name": "sums", "axes": [["n", 1], ["y", 12], ["x", 10], ["c", 8]],
   "reduce": [["ky", 3], ["kx", 3]],
   "value": "image[n, y + 2 * ky - 2, x + 2 * kx - 2, c | 0 <= y + 2 * ky - 2 && y + 2 * ky - 2 < 12 && 0 <= x + 2 * kx - 2 && x + 2 * kx - 2 < 10] * weights[ky, kx, c]"},
  {"name": "out", "role": "output", "axes": [["n", 1], ["y", 12], ["x", 10], ["c", 8]],
   "value": "swish(sums[n, y, x, c])"}]})j";

TEST(DagText, EveryOperatorsDagIsReadBackTheSame) {
  for (const char* text : kOperators) {
    const auto workload = Workload::parse(std::string(text));
    ASSERT_TRUE(workload) << text << ": " << workload.error().text();
    const auto again = Workload::parse(workload->canonical());
    ASSERT_TRUE(again) << text << ": " << again.error().text() << "\n" << workload->canonical();
    EXPECT_EQ(again->canonical(), workload->canonical());
    EXPECT_EQ(again->hash(), workload->hash());
    EXPECT_EQ(*again, *workload);
    EXPECT_EQ(again->scalar(), workload->scalar());
    EXPECT_NE(workload->call(), nullptr);
    EXPECT_EQ(again->call(), nullptr);
    const auto expected = evaluate(workload->dag()), same = evaluate(again->dag());
    ASSERT_TRUE(expected && same) << text;
    EXPECT_EQ(expected->front().bytes, same->front().bytes) << text;
    EXPECT_EQ(expected->front().tolerance.absolute, same->front().tolerance.absolute) << text;
    EXPECT_EQ(expected->front().tolerance.relative, same->front().tolerance.relative) << text;
  }
}

TEST(DagText, PartsThatAreSharedStayShared) {
  const auto workload = Workload::parse(
      std::string(R"j({"op":"dense","in_features":4,"out_features":8,"tail":["gelu"]})j"));
  ASSERT_TRUE(workload);
  // A polynomial of a polynomial as a tree would have many times the nodes.
  EXPECT_LT(workload->canonical().size(), 4000u) << workload->canonical();
  EXPECT_NE(workload->canonical().find("\"let\""), std::string::npos);
}

TEST(DagText, NamesAreNoPartOfTheStructure) {
  Json renamed = Json::parse(kOwn);
  std::string text = renamed.dump();
  for (const auto& [from, to] : {std::pair{"image", "picture"}, {"sums", "total"}, {"ky", "row"}}) {
    for (std::size_t at; (at = text.find(from)) != std::string::npos;) {
      text.replace(at, std::string(from).size(), to);
    }
  }
  const auto one = Workload::parse(std::string(kOwn)), other = Workload::parse(text);
  ASSERT_TRUE(one && other) << other.error().text();
  EXPECT_EQ(one->hash(), other->hash());
  EXPECT_FALSE(*one == *other);
  EXPECT_EQ(one->title(), "dilated depthwise with swish");
  renamed.erase("title");
  EXPECT_EQ(Workload::parse(renamed)->title(), "out 1x12x10x8");
  EXPECT_EQ(Workload::parse(renamed)->hash(), one->hash());
  renamed["stages"][1]["axes"][0][1] = 2;
  EXPECT_FALSE(Workload::parse(renamed)) << "the sum takes three rows";
}

// Against loops of our own over the same fills.
TEST(DagText, AUsersOwnOperatorComputesWhatItSays) {
  const auto workload = Workload::parse(std::string(kOwn));
  ASSERT_TRUE(workload) << workload.error().text();
  const auto bytes = [&](std::size_t i) {
    const Stage& stage = workload->dag().stages[i];
    return *to_doubles(*filled(stage.buffer, stage.fill), stage.buffer->type);
  };
  const Tensor image = bytes(0), weights = bytes(1);
  for (const double w : weights) EXPECT_LT(std::fabs(w), 1. / 3) << "sums of nine are of O(1)";
  const auto result = evaluate(workload->dag());
  ASSERT_TRUE(result) << result.error().text();
  const Tensor actual = *to_doubles(result->front().bytes, result->front().type);
  std::size_t i = 0;
  for (int y = 0; y < 12; ++y) {
    for (int x = 0; x < 10; ++x) {
      for (int c = 0; c < 8; ++c, ++i) {
        double sum = 0;
        for (int ky = 0; ky < 3; ++ky) {
          for (int kx = 0; kx < 3; ++kx) {
            const int iy = y + 2 * ky - 2, ix = x + 2 * kx - 2;
            if (iy < 0 || iy >= 12 || ix < 0 || ix >= 10) continue;
            sum += image[std::size_t((iy * 10 + ix) * 8 + c)] *
                   weights[std::size_t((ky * 3 + kx) * 8 + c)];
          }
        }
        ASSERT_NEAR(actual[i], sum / (1 + std::exp(-sum)), 2e-6) << i;
      }
    }
  }
  EXPECT_GT(result->front().tolerance.absolute, 0);
  // Nine products, their sums, and what swish is made of.
  EXPECT_GT(workload->operations(), 12 * 10 * 8 * 18);
}

TEST(DagText, WhatIsWrongIsNamed) {
  struct Case {
    const char *pointer, *value, *says;
  };
  const Case cases[] = {
      {"/stages/3/value", R"j("swish(sums[n, y, x])")j", "4 dimensions"},
      {"/stages/3/value", R"j("swish(sums[n, y, x, c, c])")j", "4 dimensions"},
      {"/stages/3/value", R"j("swish(nothing[n, y, x, c])")j", "no tensor \"nothing\""},
      {"/stages/3/value", R"j("swirl(sums[n, y, x, c])")j", "no function \"swirl\""},
      {"/stages/3/value", R"j("sums[n, y, x, c] + ")j", "ends early"},
      {"/stages/3/value", R"j("sums[n, y, x, c] 2")j", "something follows"},
      {"/stages/3/value", R"j("sums[n, y + 1, x, c]")j", "reads outside of sums, dimension 2"},
      {"/stages/3/value", R"j("sums[n, y * x, x, c]")j", "not affine"},
      {"/stages/3/value", R"j("sums[n, y, x, c] + y")j", "types differ: float32 and int32"},
      {"/stages/3/value", R"j("sums[n, y, x, c] * k")j", "nothing here is called \"k\""},
      {"/stages/3/value", R"j("float32(y / x)")j", "positive constants"},
      {"/stages/3/value", R"j("select(y, 1.0, 2.0)")j", "condition"},
      {"/stages/3/value", R"j("image[n, y, x, c]")j", "\"sums\" is read by no other"},
      {"/stages/3/value", "7", "must be a string"},
      {"/stages/3/name", R"j("sums")j", "there twice"},
      {"/stages/3/name", R"j("two words")j", "no proper name"},
      {"/stages/3/role", R"j("input")j", "has a value"},
      {"/stages/2/role", R"j("output")j", "second output"},
      {"/stages/0/role", R"j("teapot")j", "one of: input"},
      {"/stages/0/axes/1", R"j(["y", 0])j", "axis y of 0"},
      {"/stages/0/axes/1", R"j(["y"])j", "[\"name\", extent]"},
      {"/stages/0/axes/1", R"j(["y", 1000000000])j", "2^30"},
      {"/stages/0/type", R"j("bfloat16")j", "no type"},
      {"/stages/0/colour", R"j("red")j", "no field \"colour\""},
      {"/stages/2/combine", R"j("product")j", "one of: sum"},
      {"/stages/0/axes/1", R"j(["n", 12])j", "two axes n"},
      {"/stages/2/let", R"j([["ky", "1"]])j", "twice, or an axis"},
      {"/stages/0/fill", R"j({"kind":"int","low":-3,"high":3})j", "another kind"},
      {"/stages/0/fill", R"j({"kind":"real","low":3,"high":1})j", "low to high"},
      {"/tolerance", R"j({"absolute":-1,"relative":0})j", "tolerance"},
      {"/speed", "1", "no field \"speed\""},
      {"/stages", "[]", "without stages"},
      {"/stages", "5", "list \"stages\""}};
  for (const Case& c : cases) {
    Json json = Json::parse(kOwn);
    json[Json::json_pointer(c.pointer)] = Json::parse(c.value);
    const auto refused = Workload::parse(json);
    ASSERT_FALSE(refused) << c.pointer << " " << c.value;
    EXPECT_NE(refused.error().text().find(c.says), std::string::npos)
        << c.pointer << " " << c.value << ": " << refused.error().text();
  }
}

TEST(DagText, HostileTextsEndInAnError) {
  const auto with_value = [](std::string value) {
    Json json = Json::parse(kOwn);
    json["stages"][3]["value"] = std::move(value);
    return Workload::parse(json);
  };
  const auto many = [](const char* piece, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += piece;
    return text;
  };
  EXPECT_FALSE(with_value(many("(", 100000)));
  EXPECT_FALSE(with_value(many("-", 50000) + "1.0"));
  EXPECT_FALSE(with_value(many("!", 50000) + "true"));
  EXPECT_FALSE(with_value(many("1.0+", 20000) + "1.0"));
  EXPECT_FALSE(with_value(many("sqrt(", 5000)));
  Json chain = Json::parse(kOwn);  // each part as deep as one may be, on top of the one before
  chain["stages"][3]["let"] = Json::array({{"p0", "sums[n, y, x, c]"}});
  for (int i = 1; i < 100; ++i) {
    chain["stages"][3]["let"].push_back(
        {"p" + std::to_string(i), "p" + std::to_string(i - 1) + many(" + sums[n, y, x, c]", 50)});
  }
  chain["stages"][3]["value"] = "p99";
  EXPECT_FALSE(Workload::parse(chain));
  EXPECT_FALSE(with_value("1e999"));
  EXPECT_FALSE(with_value("99999999999999999999999"));
  EXPECT_FALSE(with_value(std::string("sums[n,\0y]", 10)));
  Json deep = Json::parse(kOwn);
  for (int i = 0; i < 400; ++i)
    deep["stages"].insert(deep["stages"].begin() + 1, deep["stages"][0]);
  EXPECT_FALSE(Workload::parse(deep));
  EXPECT_FALSE(Workload::parse(std::string("{\"stages\":")));
  EXPECT_FALSE(Workload::parse(std::string("[1,2]")));
}

TEST(DagText, ExpressionsKeepTheirTreeTypesAndNumbers) {
  const ir::Buffer x =
      std::make_shared<const ir::BufferDecl>(ir::BufferDecl{"x", ir::kFloat32, {8}});
  const ir::Var i = ir::make_var("i");
  ExpressionScope scope{{{"x", x}}, {{"i", ir::var_ref(i)}}};
  const ExpressionNames names{{{x, "x"}}, {{i, "i"}}};
  for (const char* text : {"x[i] - (x[i] - x[i])",
                           "x[i] - x[i] - x[i]",
                           "(x[i] + 1.0) * 2.5",
                           "-(x[i])",
                           "-1.5",
                           "1e-05 * x[i]",
                           "0.1 + x[i]",
                           "float16(0.1)",
                           "int8(-128)",
                           "float16((1.5)) + float16(2.0)",
                           "select(i < 3 && !(2 <= i) || i == 7, x[i], inf)",
                           "bits_as_int32(x[i]) << 3 >> 1",
                           "min(x[i], max(x[i], -inf))",
                           "x[i | 0 <= i && i < 5]",
                           "int64(5000000000)",
                           "int64(-9223372036854775808)",
                           "float32(i % 3 * 2 / 5)",
                           "abs(floor(sqrt(x[i])))",
                           "round(x[i] / 3.0)",
                           "i * (i - -3)"}) {
    const auto parsed = parse_expression(text, scope);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().text();
    const auto printed = print_index(parsed->value, names);
    ASSERT_TRUE(printed) << text;
    EXPECT_EQ(*printed, text);
  }
}

std::string of_axis(const std::string& value) {
  return R"j({"title": "t", "stages": [{"name": "o", "role": "output", "axes": [["i", 4096]],
          "value": ")j" +
         value + R"j("}]})j";
}

// Loops are made of what axes add up to as if it were exact, and code wraps it.
TEST(DagText, WhatAxesComeToMustFitItsType) {
  for (const char* value :
       {"float32(i * 524287)", "float32(int64(i) * 1000000)", "uint8(i / 16)", "int8(i)"}) {
    const auto fits = Workload::parse(of_axis(value));
    EXPECT_TRUE(fits) << value << ": " << fits.error().text();
  }
  for (const char* value :
       {"float32(i * 1000000)", "select(i * 1000000 < 0, 1.0, 0.0)", "float32(i * -1000000)"}) {
    const auto refused = Workload::parse(of_axis(value));
    ASSERT_FALSE(refused) << value;
    EXPECT_NE(refused.error().text().find("does not hold"), std::string::npos)
        << refused.error().text();
  }
}

// Each use of a let counts: 1 KB of JSON would keep the search busy for minutes.
TEST(DagText, LetsThatDoubleAreBounded) {
  const Json axes = Json::array({Json::array({"i", 64})});
  Json stage = {{"name", "o"}, {"role", "output"}, {"axes", axes}, {"value", "x30"}};
  Json lets = Json::array({{"x0", "a[i]"}});
  for (int i = 1; i <= 30; ++i) {
    const std::string before = "x" + std::to_string(i - 1);
    lets.push_back({"x" + std::to_string(i), before + " * 0.5 * " + before});
  }
  stage["let"] = lets;
  const Json input = {{"name", "a"}, {"role", "input"}, {"axes", axes}};
  Json dag = {{"title", "t"}};
  dag["stages"] = Json::array({input, stage});
  const auto refused = Workload::parse(dag.dump());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("200,000 operations"), std::string::npos)
      << refused.error().text();
}

}  // namespace
}  // namespace fettle::space
