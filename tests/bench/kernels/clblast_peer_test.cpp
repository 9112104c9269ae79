// CLBlast as a peer: it computes the layers that it says it does, and refuses the others.
#include "tests/bench/kernels/clblast_peer.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fettle::bench {
namespace {

Layer layer_of(const char* text) {
  auto workload = space::Workload::parse(std::string(text));
  EXPECT_TRUE(workload.ok()) << workload.error().text();
  auto layer = make_layer(*workload);
  EXPECT_TRUE(layer.ok()) << layer.error().text();
  return std::move(*layer);
}

class ClBlast : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = ClBlastDevice::open();
    if (!opened) GTEST_SKIP() << opened.error().text();
    device = std::move(*opened);
  }
  void expect_right(const char* text) {
    SCOPED_TRACE(text);
    Layer layer = layer_of(text);
    for (const SecondFactor second : {SecondFactor::AsGiven, SecondFactor::Transposed}) {
      auto peer = make_clblast_peer(*device, layer, second);
      if (second == SecondFactor::Transposed && !peer) {
        EXPECT_NE(peer.error().text().find("an input"), std::string::npos);
        continue;
      }
      ASSERT_TRUE(peer.ok()) << peer.error().text();
      ASSERT_TRUE((*peer)->run(2).ok());
      auto output = (*peer)->output();
      ASSERT_TRUE(output.ok()) << output.error().text();
      EXPECT_EQ(wrong_answer(*output, layer), "") << (*peer)->name();
      layer.expected.front() += 100;
      EXPECT_NE(wrong_answer(*output, layer), "");
      layer.expected.front() -= 100;
    }
  }
  std::unique_ptr<ClBlastDevice> device;
};

TEST_F(ClBlast, ComputesWhatTheReferenceSays) {
  expect_right(R"({"op":"dense","batch":1,"in_features":40,"out_features":24,
    "tail":["bias","relu"]})");
  expect_right(R"({"op":"dense","batch":6,"in_features":40,"out_features":24,
    "tail":["bias","add","gelu"]})");
  expect_right(R"({"op":"batch_matmul","batch":3,"m":5,"n":24,"k":16})");
  expect_right(R"({"op":"conv2d","height":6,"width":5,"in_channels":24,"out_channels":16,
    "kernel":[1,1],"tail":["bias","relu"]})");
  expect_right(R"({"op":"conv2d","layout":"NCHW","batch":2,"height":6,"width":5,"in_channels":24,
    "out_channels":16,"kernel":[1,1],"tail":["bias","relu"]})");
}

// Gives memory back that holds NaN, for the next buffer of as many bytes.
void leave_nan(const ClBlastDevice& device, std::size_t bytes) {
  std::vector<cl_mem> buffers(64);
  for (cl_mem& buffer : buffers) {
    buffer = clCreateBuffer(device.context(), CL_MEM_READ_WRITE, bytes, nullptr, nullptr);
    const float nan = NAN;
    clEnqueueFillBuffer(device.queue(), buffer, &nan, sizeof nan, 0, bytes, 0, nullptr, nullptr);
  }
  clFinish(device.queue());
  for (cl_mem buffer : buffers) clReleaseMemObject(buffer);
}

TEST_F(ClBlast, WhatMemoryHeldBeforeIsNoPartOfAnAnswer) {
  const Layer layer = layer_of(R"({"op":"dense","batch":1,"in_features":256,"out_features":128,
    "tail":["bias","relu"]})");
  for (int i = 0; i < 8; ++i) {
    leave_nan(*device, layer.expected.size() * sizeof(float));
    auto peer = make_clblast_peer(*device, layer, SecondFactor::AsGiven);
    ASSERT_TRUE(peer.ok()) << peer.error().text();
    auto output = (*peer)->output();
    ASSERT_TRUE(output.ok()) << output.error().text();
    EXPECT_EQ(wrong_answer(*output, layer), "");
  }
}

TEST_F(ClBlast, RefusesWhatIsNoProduct) {
  for (const char* text :
       {R"({"op":"conv2d","height":6,"width":6,"in_channels":8,"out_channels":8,"kernel":[3,3],
         "pad":[1,1]})",
        R"({"op":"conv2d","height":6,"width":6,"in_channels":8,"out_channels":8,"kernel":[1,1],
         "stride":[2,2]})",
        R"({"op":"depthwise_conv2d","height":6,"width":6,"channels":8,"kernel":[1,1]})",
        R"({"op":"dense","batch":1,"in_features":8,"out_features":8,"dtype":"int8"})"}) {
    const Layer layer = layer_of(text);
    EXPECT_EQ(make_clblast_peer(*device, layer, SecondFactor::AsGiven).error().code,
              ErrorCode::Unsupported)
        << text;
  }
}

}  // namespace
}  // namespace fettle::bench
