// PyTorch as a peer: it is given the layers that the reference computes, and says why where it
// cannot be. FETTLE_TORCH names a Python that has PyTorch; its build for CPUs will do.
#include "tests/bench/kernels/torch_peer.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "host/records/database.h"
#include "tests/bench/kernels/alternate.h"
#include "tests/bench/kernels/crowded_core.h"
#include "tests/support/running_program.h"

namespace fettle::bench {
namespace {

Layer layer_of(const std::string& text) {
  auto workload = space::Workload::parse(text);
  EXPECT_TRUE(workload.ok()) << workload.error().text();
  auto layer = make_layer(*workload);
  EXPECT_TRUE(layer.ok()) << layer.error().text();
  return std::move(*layer);
}

class Torch : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const char* python = std::getenv("FETTLE_TORCH");
    if (python == nullptr) return;
    auto started = TorchProcess::start(python, TorchDevice::Cpu, {});
    ASSERT_TRUE(started.ok()) << started.error().text();
    process = std::move(*started);
    std::printf("             %s\n", process->version().c_str());
  }
  static void TearDownTestSuite() { process.reset(); }
  void SetUp() override {
    if (!process) GTEST_SKIP() << "no PyTorch: FETTLE_TORCH names a Python that has it";
  }
  static inline std::unique_ptr<TorchProcess> process;
};

struct Case {
  const char* workload;
  std::vector<std::string> ways;
};

const Case kCases[] = {
    {R"({"op":"conv2d","height":10,"width":9,"in_channels":16,"out_channels":32,"kernel":[3,3],
      "pad":[1,1],"tail":["bias","add","relu"]})",
     {"torch_contiguous", "torch_channels_last"}},
    {R"({"op":"conv2d","batch":2,"height":11,"width":9,"in_channels":5,"out_channels":7,
      "kernel":[3,2],"stride":[2,1],"pad":[1,0],"dilation":[1,2],"tail":["bias"]})",
     {"torch_contiguous", "torch_channels_last"}},
    {R"({"op":"conv2d","height":9,"width":8,"in_channels":16,"out_channels":24,"groups":4,
      "kernel":[3,3],"pad":[1,1],"tail":["add"]})",
     {"torch_contiguous", "torch_channels_last"}},
    {R"({"op":"conv2d","layout":"NCHW","height":10,"width":9,"in_channels":16,"out_channels":32,
      "kernel":[3,2],"stride":[2,1],"pad":[1,1],"tail":["bias","add","relu"]})",
     {"torch_contiguous", "torch_channels_last"}},
    {R"({"op":"depthwise_conv2d","height":9,"width":8,"channels":24,"kernel":[3,3],"stride":[2,2],
      "pad":[1,1],"tail":["bias","relu"]})",
     {"torch_contiguous", "torch_channels_last"}},
    {R"({"op":"depthwise_conv2d","layout":"NCHW","height":9,"width":8,"channels":24,
      "kernel":[3,3],"pad":[1,1]})",
     {"torch_contiguous", "torch_channels_last"}},
    {R"({"op":"conv3d","depth":5,"height":7,"width":6,"in_channels":16,"out_channels":16,
      "kernel":[2,3,3],"stride":[2,1,1],"pad":[1,1,0],"tail":["bias","relu"]})",
     {"torch_contiguous", "torch_channels_last"}},
    {R"({"op":"dense","batch":5,"in_features":33,"out_features":17,"tail":["bias","gelu"]})",
     {"torch_addmm", "torch_linear"}},
    {R"({"op":"dense","in_features":96,"out_features":40})", {"torch_addmm", "torch_linear"}},
    {R"({"op":"batch_matmul","batch":3,"m":7,"n":20,"k":9})", {"torch_bmm"}},
    {R"({"op":"softmax","batch":6,"features":40})", {"torch_softmax"}},
    {R"({"op":"layer_norm","batch":6,"features":48})", {"torch_layer_norm"}},
    {R"({"op":"conv2d","height":10,"width":9,"in_channels":16,"out_channels":32,"kernel":[3,3],
      "pad":[1,1],"dtype":"float16","tail":["bias","add","relu"]})",
     {"torch_contiguous", "torch_channels_last"}},
    {R"({"op":"dense","batch":5,"in_features":33,"out_features":17,"dtype":"float16",
      "tail":["bias"]})",
     {"torch_addmm", "torch_linear"}},
    {R"({"op":"batch_matmul","batch":3,"m":7,"n":20,"k":9,"allow_tf32":true})", {"torch_bmm"}},
};

TEST_F(Torch, ComputesWhatTheReferenceSays) {
  for (const Case& each : kCases) {
    SCOPED_TRACE(each.workload);
    Layer layer = layer_of(each.workload);
    std::vector<std::string> ways;
    for (NamedPeer& peer : make_torch_peers(*process, layer)) {
      ways.push_back(peer.name);
      ASSERT_TRUE(peer.made.ok()) << peer.made.error().text();
      const auto output = (*peer.made)->output();
      ASSERT_TRUE(output.ok()) << output.error().text();
      EXPECT_EQ(wrong_answer(*output, layer), "") << peer.name;
      layer.expected.back() += 1;
      EXPECT_NE(wrong_answer(*output, layer), "") << peer.name;
      layer.expected.back() -= 1;
      ASSERT_TRUE((*peer.made)->run(3).ok());
      EXPECT_GT((*peer.made)->device_nanoseconds(), 0);
      EXPECT_EQ((*peer.made)->name(), peer.name);
    }
    EXPECT_EQ(ways, each.ways);
  }
}

// Its own clock is what counts, and a layer leaves nothing to the next.
TEST_F(Torch, IsTimedInTurns) {
  const Layer layer = layer_of(R"({"op":"batch_matmul","batch":3,"m":7,"n":20,"k":9})");
  for (int i = 0; i < 2; ++i) {
    auto peers = make_torch_peers(*process, layer);
    Contender* const all[] = {peers.front().made->get()};
    const auto timings = alternate(all, {.rounds = 3, .sample_ms = 0.1});
    ASSERT_TRUE(timings.ok()) << timings.error().text();
    EXPECT_EQ(timings->front().nanoseconds.size(), 3u);
    EXPECT_GT(timings->front().least(), 10);
  }
}

TEST_F(Torch, SaysWhatItDoesNot) {
  const Layer int8 =
      layer_of(R"({"op":"dense","batch":3,"in_features":96,"out_features":40,"dtype":"int8"})");
  const auto refused = make_torch_peers(*process, int8);
  ASSERT_EQ(refused.size(), 1u);
  ASSERT_FALSE(refused[0].made.ok());
  EXPECT_EQ(refused[0].made.error().code, ErrorCode::Unsupported);
  EXPECT_NE(refused[0].made.error().text().find("int8"), std::string::npos);
  // And goes on.
  const Layer other = layer_of(R"({"op":"softmax","batch":6,"features":40})");
  EXPECT_TRUE(make_torch_peers(*process, other).front().made.ok());
}

TEST_F(Torch, SeesNoCudaDeviceWhereNoneIs) {
  if (dlopen("libcuda.so.1", RTLD_LAZY) != nullptr) GTEST_SKIP() << "a CUDA driver is here";
  const auto none = TorchProcess::start(std::getenv("FETTLE_TORCH"), TorchDevice::Cuda, {});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().text().find("PyTorch sees no CUDA device here"), std::string::npos)
      << none.error().text();
}

// Its own, not this process's: beside a stand-in that is always busy.
TEST(TorchPeer, TellsWhatInterruptsItsProcess) {
  const testing::ScratchFolder folder;
  const std::string python = folder.file("python");
  std::ofstream(python) << R"(#!/usr/bin/env python3
import sys, threading
def spin():
    while True: pass
threading.Thread(target=spin, daemon=True).start()
print("{}", flush=True)
for line in sys.stdin: print('{"ways": ["addmm"], "ns": 5}', flush=True)
)";
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  CrowdedCore crowded;
  auto process = TorchProcess::start(python, TorchDevice::Cpu, {crowded.core()});
  ASSERT_TRUE(process.ok()) << process.error().text();
  crowded.leave();
  const Layer layer = layer_of(R"({"op":"dense","in_features":9,"out_features":4})");
  const auto peers = make_torch_peers(**process, layer);
  ASSERT_EQ(peers.size(), 1u);
  ASSERT_TRUE(peers[0].made.ok()) << peers[0].made.error().text();
  EXPECT_GE(interruptions_meanwhile(**peers[0].made), kManyInterruptions);
}

TEST(TorchPeer, APythonWithoutItIsOneLine) {
  if (testing::run_program({"python3", "-c", "import torch"}).status == 0) {
    GTEST_SKIP() << "python3 has PyTorch";
  }
  const auto without = TorchProcess::start("python3", TorchDevice::Cpu, {});
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(without.error().text().find('\n'), std::string::npos) << without.error().text();
  EXPECT_NE(without.error().text().find("python3 runs no PyTorch: ModuleNotFoundError"),
            std::string::npos)
      << without.error().text();
  EXPECT_FALSE(TorchProcess::start("/nowhere/python", TorchDevice::Cpu, {}).ok());
}

TEST(TorchPeer, WithoutACudaDeviceThereIsNoComparison) {
  if (dlopen("libcuda.so.1", RTLD_LAZY) != nullptr) GTEST_SKIP() << "a CUDA driver is here";
  const testing::ScratchFolder folder;
  ASSERT_TRUE(records::Database::open(folder.file("empty.db")).ok());
  const auto ran = testing::run_program({FETTLE_BENCH_PROGRAM, "kernels", "--device", "local-cuda",
                                         "--torch", "python3", "--db", folder.file("empty.db")});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
#ifdef FETTLE_HAS_CUDA
  EXPECT_NE(ran.err.find("no CUDA device to compare kernels on"), std::string::npos) << ran.err;
#else
  EXPECT_NE(ran.err.find("./dev setup cuda"), std::string::npos) << ran.err;
#endif
}

}  // namespace
}  // namespace fettle::bench
