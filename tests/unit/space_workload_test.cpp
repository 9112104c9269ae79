// Workloads: parsing, canonical form and what is refused.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "host/space/operators/operator.h"
#include "host/space/workload.h"

namespace fettle::space {
namespace {

nlohmann::json conv() {
  return {{"op", "conv2d"},    {"height", 56},        {"width", 56},
          {"in_channels", 64}, {"out_channels", 128}, {"kernel", {3, 3}},
          {"stride", {2, 2}},  {"pad", {1, 1}},       {"tail", {"bias", "relu"}}};
}

TEST(SpaceWorkload, DefaultsMakeEqualWorkloadsEqual) {
  auto shorter = conv();
  auto longer = conv();
  longer["batch"] = 1;
  longer["groups"] = 1;
  longer["dilation"] = {1, 1};
  longer["layout"] = "NHWC";
  longer["dtype"] = "float32";
  const auto a = Workload::parse(shorter), b = Workload::parse(longer);
  ASSERT_TRUE(a) << a.error().text();
  ASSERT_TRUE(b);
  EXPECT_EQ(a->canonical(), b->canonical());
  EXPECT_EQ(a->hash(), b->hash());
  EXPECT_EQ(a->hash().size(), 16u);
  const auto again = Workload::parse(a->canonical());
  ASSERT_TRUE(again);
  EXPECT_EQ(*a, *again);
  longer["width"] = 57;
  EXPECT_NE(Workload::parse(longer)->hash(), a->hash());
}

TEST(SpaceWorkload, TitleAndOperations) {
  const auto w = Workload::parse(conv());
  EXPECT_EQ(w->title(), "conv2d 56x56x64→128 k3 s2 +bias+relu");
  const double outputs = 28.0 * 28 * 128;
  EXPECT_EQ(w->operations(), outputs * 64 * 9 * 2 + 2 * outputs);
  const auto dense = Workload::parse(nlohmann::json{
      {"op", "dense"}, {"in_features", 512}, {"out_features", 1000}, {"tail", {"bias"}}});
  ASSERT_TRUE(dense);
  EXPECT_EQ(dense->title(), "dense 512→1000 +bias");
  EXPECT_EQ(dense->operations(), 2 * 512 * 1000 + 1000);
}

// A permission: where it is not given, the key is what it always was.
TEST(SpaceWorkload, Tf32IsAllowedOrLeftOut) {
  for (
      const char* text :
      {R"({"op":"dense","in_features":8,"out_features":8})",
       R"({"op":"batch_matmul","m":8,"n":8,"k":8})",
       R"({"op":"conv2d","height":8,"width":8,"in_channels":8,"out_channels":8,"kernel":3})",
       R"({"op":"conv3d","depth":4,"height":4,"width":4,"in_channels":8,"out_channels":8,"kernel":[1,1,1]})",
       R"({"op":"conv2d_transpose","height":4,"width":4,"in_channels":8,"out_channels":8,"kernel":2})"}) {
    auto json = nlohmann::json::parse(text);
    const auto plain = Workload::parse(json);
    ASSERT_TRUE(plain) << plain.error().text();
    EXPECT_EQ(plain->canonical().find("tf32"), std::string::npos);
    json["allow_tf32"] = false;
    const auto refused = Workload::parse(json);
    ASSERT_TRUE(refused);
    EXPECT_EQ(*refused, *plain);
    EXPECT_EQ(refused->source(), plain->source());
    json["allow_tf32"] = true;
    const auto allowed = Workload::parse(json);
    ASSERT_TRUE(allowed);
    EXPECT_TRUE(allowed->dag().allow_tf32);
    EXPECT_FALSE(*allowed == *plain);
    EXPECT_NE(allowed->hash(), plain->hash());
    EXPECT_EQ(allowed->title(), plain->title() + " tf32");
    const auto again = Workload::parse(allowed->canonical());
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_TRUE(again->dag().allow_tf32);
    EXPECT_EQ(*again, *allowed);
    EXPECT_EQ(Workload::parse(allowed->source())->canonical(), allowed->canonical());
    for (const auto& [value, dtype, says] :
         {std::tuple<nlohmann::json, const char*, const char*>{"yes", "float32", "true or false"},
          {true, "float16", "is of float32, not of float16"},
          {true, "int8", "not of int8"}}) {
      json["allow_tf32"] = value, json["dtype"] = dtype;
      const auto wrong = Workload::parse(json);
      ASSERT_FALSE(wrong) << json;
      EXPECT_EQ(wrong.error().code, ErrorCode::InvalidArgument);
      EXPECT_NE(wrong.error().text().find(says), std::string::npos) << wrong.error().text();
    }
  }
  const auto nothing = Workload::parse(nlohmann::json::parse(
      R"({"op":"max_pool2d","height":8,"width":8,"channels":4,"kernel":3,"allow_tf32":true})"));
  ASSERT_FALSE(nothing);
  EXPECT_NE(nothing.error().text().find("no field \"allow_tf32\""), std::string::npos);
}

struct Bad {
  const char* field;
  nlohmann::json value;
  ErrorCode code;
  const char* says;
};

TEST(SpaceWorkload, BadFieldsAreNamed) {
  const Bad cases[] = {
      {"height", 0, ErrorCode::InvalidArgument, "\"height\" is 0"},
      {"height", "big", ErrorCode::InvalidArgument, "\"height\""},
      {"height", 1.5, ErrorCode::InvalidArgument, "\"height\""},
      {"kernel", {3, 3, 3}, ErrorCode::InvalidArgument, "\"kernel\""},
      {"kernel", {99, 3}, ErrorCode::InvalidArgument, "larger than the padded input"},
      {"stride", {0, 1}, ErrorCode::InvalidArgument, "\"stride\""},
      {"colour", 1, ErrorCode::InvalidArgument, "\"colour\""},
      {"groups", 3, ErrorCode::InvalidArgument, "groups 3 do not divide"},
      {"layout", "NCHW1n17c", ErrorCode::Unsupported, "\"NCHW1n17c\"; supported: NHWC, NCHW"},
      {"dtype", "int4", ErrorCode::Unsupported, "int4"},
      {"tail", {"softmax"}, ErrorCode::Unsupported, "softmax"},
      {"tail", {"relu", "bias", "relu"}, ErrorCode::Unsupported, "twice"},
      {"tail", {"gelu", "tanh"}, ErrorCode::Unsupported, "second function"},
      {"tail", {"clip 3"}, ErrorCode::Unsupported, "clip LOW HIGH"},
      {"tail", {"clip 0  6"}, ErrorCode::Unsupported, "clip LOW HIGH"},
      {"tail", {"clip 6 0"}, ErrorCode::InvalidArgument, "bounds"},
      {"tail", {"relu 1"}, ErrorCode::Unsupported, "supported"},
      {"tail", {7}, ErrorCode::InvalidArgument, "string"},
      {"op", "conv9d", ErrorCode::Unsupported, "supported: conv2d, dense"},
      {"in_channels", 65536, ErrorCode::InvalidArgument, ""},  // and 65536 out: too many weights
  };
  for (const Bad& bad : cases) {
    auto json = conv();
    json[bad.field] = bad.value;
    if (std::string(bad.field) == "in_channels") json["out_channels"] = 65536;
    const auto w = Workload::parse(json);
    ASSERT_FALSE(w) << bad.field << " " << bad.value;
    EXPECT_EQ(w.error().code, bad.code) << w.error().text();
    EXPECT_NE(w.error().message.find(bad.says), std::string::npos) << w.error().text();
  }
  auto json = conv();
  json.erase("width");
  EXPECT_NE(Workload::parse(json).error().message.find("\"width\" is missing"), std::string::npos);
  EXPECT_FALSE(Workload::parse(std::string("{")));
  EXPECT_FALSE(Workload::parse(nlohmann::json(3)));
}

TEST(SpaceWorkload, TailsOfInt8Requantise) {
  auto json = conv();
  json["dtype"] = "int8";
  const std::pair<nlohmann::json, const char*> bad[] = {
      {{"gelu"}, "supported of int8"},
      {{"bias", "cast int8"}, "needs a clip"},
      {{"clip -200 127", "cast int8"}, "needs a clip"},
      {{"clip -128 127", "bias", "cast int8"}, "needs a clip"},
      {{"clip -128 127", "cast int8", "relu"}, "comes after the cast"},
      {{"shift_right 31"}, "supported of int8"},
      {{"shift_right"}, "supported of int8"}};
  for (const auto& [tail, says] : bad) {
    json["tail"] = tail;
    const auto w = Workload::parse(json);
    ASSERT_FALSE(w) << tail;
    EXPECT_EQ(w.error().code, ErrorCode::Unsupported);
    EXPECT_NE(w.error().message.find(says), std::string::npos) << w.error().text();
  }
  for (const char* clip : {"clip 0 4294967296", "clip -2147483649 0", "clip 0 2147483648"}) {
    json["tail"] = {clip};
    const auto w = Workload::parse(json);
    ASSERT_FALSE(w) << clip;
    EXPECT_EQ(w.error().code, ErrorCode::InvalidArgument);
    EXPECT_NE(w.error().message.find("int32"), std::string::npos) << w.error().text();
  }
  json["tail"] = {"clip -2147483648 2147483647"};
  EXPECT_TRUE(Workload::parse(json));
  json["tail"] = {"bias", "shift_right 9", "relu", "clip -128 127", "cast int8"};
  const auto w = Workload::parse(json);
  ASSERT_TRUE(w) << w.error().text();
  EXPECT_NE(w->title().find(" int8 +bias+shift_right 9"), std::string::npos) << w->title();
  json["in_channels"] = 65536, json["out_channels"] = 8;  // 9 * 2^16 products in a sum
  EXPECT_NE(Workload::parse(json).error().message.find("2^17"), std::string::npos);
}

TEST(SpaceWorkload, Int8IsRefusedWhereItWouldBeWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("softmax","features":8)", "supported: float32, float16"},
      {R"("elementwise","function":"divide","shape":[4],"shape_b":[4])", "no division"},
      {R"("pad","shape":[4],"before":[1],"after":[1],"value":128)", "does not hold"},
      {R"("reduce","function":"mean","shape":[32768],"axes":[0])", "2^15"},
      {R"("global_avg_pool2d","height":256,"width":128,"channels":4)", "2^15"},
      {R"("avg_pool2d","height":255,"width":255,"channels":4,"kernel":[255,255])", "2^15"},
      {R"("batch_matmul","m":2,"n":3,"k":131072)", "2^17"},
      {R"("conv3d","depth":3,"height":3,"width":3,"in_channels":8192,"out_channels":1,"kernel":[3,3,3])",
       "2^17"},
      {R"("conv2d_transpose","height":3,"width":3,"in_channels":65536,"out_channels":1,"kernel":[2,2])",
       "2^17"}};
  for (const auto& [fields, says] : cases) {
    const auto w = Workload::parse(std::string("{\"op\":") + fields + R"(,"dtype":"int8"})");
    ASSERT_FALSE(w) << fields;
    EXPECT_NE(w.error().message.find(says), std::string::npos) << w.error().text();
  }
}

// Inputs, weights and the output; constants of the tail are as the sums.
TEST(SpaceWorkload, EveryOperatorIsStoredAsFloat16) {
  const char* const workloads[] = {
      R"("conv2d","height":5,"width":5,"in_channels":3,"out_channels":4,"kernel":[3,3],"pad":[1,1])",
      R"("depthwise_conv2d","height":5,"width":5,"channels":4,"kernel":[3,3])",
      R"("conv3d","depth":3,"height":3,"width":3,"in_channels":2,"out_channels":4,"kernel":[2,2,2])",
      R"("conv2d_transpose","height":3,"width":3,"in_channels":2,"out_channels":4,"kernel":[2,2])",
      R"("dense","in_features":5,"out_features":4)",
      R"("batch_matmul","batch":2,"m":3,"k":4,"n":5)",
      R"("max_pool2d","height":5,"width":5,"channels":4,"kernel":[2,2])",
      R"("avg_pool2d","height":5,"width":5,"channels":4,"kernel":[2,2])",
      R"("global_avg_pool2d","height":5,"width":5,"channels":4)",
      R"("softmax","features":8)",
      R"("layer_norm","features":8)",
      R"("reduce","function":"sum","shape":[4,6],"axes":[0])",
      R"("elementwise","function":"add","shape":[4,6],"shape_b":[6])",
      R"("pad","shape":[4,6],"before":[1,1],"after":[1,1])",
      R"("transpose","shape":[4,6],"permutation":[1,0])"};
  EXPECT_EQ(std::size(workloads), operator_names().size());
  for (const char* fields : workloads) {
    const auto w = Workload::parse(std::string("{\"op\":") + fields +
                                   R"(,"dtype":"float16","tail":["bias","add"]})");
    ASSERT_TRUE(w) << w.error().text();
    const ComputeDag dag = w->dag();
    EXPECT_EQ(dag.stages.back().buffer->type.scalar, ir::Scalar::Float16) << w->title();
    for (const Stage& stage : dag.stages) {
      if (!stage.placeholder()) continue;
      const auto wanted = stage.name == "bias" ? ir::Scalar::Float32 : ir::Scalar::Float16;
      EXPECT_EQ(stage.buffer->type.scalar, wanted) << w->title() << ": " << stage.name;
    }
  }
}

TEST(SpaceWorkload, BadShapesAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"op":"elementwise","function":"add","shape":[4,6],"shape_b":[4]})", "broadcast"},
      {R"({"op":"elementwise","function":"add","shape":[4],"shape_b":[2,4]})", "broadcast"},
      {R"({"op":"elementwise","function":"add","shape":[]})", "1 to 6 integers"},
      {R"({"op":"elementwise","function":"add","shape":[65536,65536]})", "2^30"},
      {R"({"op":"pad","shape":[4,6],"before":[1],"after":[1,1]})", "differ in length"},
      {R"({"op":"pad","shape":[4],"before":[-1],"after":[1]})", "\"before\""},
      {R"({"op":"transpose","shape":[4,6],"permutation":[0,0]})", "every axis once"},
      {R"({"op":"transpose","shape":[4,6],"permutation":[1]})", "every axis once"},
      {R"({"op":"reduce","function":"sum","shape":[4,6],"axes":[2]})", "ascending axes"},
      {R"({"op":"reduce","function":"sum","shape":[4,6],"axes":[1,0]})", "ascending axes"},
      {R"({"op":"softmax","batch":1048576,"features":1048576})", "2^30"},
      {R"({"op":"batch_matmul","batch":65536,"m":256,"n":1,"k":256})", "2^30"}};
  for (const auto& [json, says] : cases) {
    const auto w = Workload::parse(std::string(json));
    ASSERT_FALSE(w) << json;
    EXPECT_EQ(w.error().code, ErrorCode::InvalidArgument) << w.error().text();
    EXPECT_NE(w.error().message.find(says), std::string::npos) << w.error().text();
  }
}

}  // namespace
}  // namespace fettle::space
