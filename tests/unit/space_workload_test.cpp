// Workloads: parsing, canonical form and what is refused.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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
      {"groups", 2, ErrorCode::Unsupported, "groups"},
      {"layout", "NCHW", ErrorCode::Unsupported, "\"NCHW\"; supported: NHWC"},
      {"dtype", "int8", ErrorCode::Unsupported, "int8"},
      {"tail", {"softmax"}, ErrorCode::Unsupported, "softmax"},
      {"tail", {"relu", "bias"}, ErrorCode::Unsupported, "order"},
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

}  // namespace
}  // namespace fettle::space
