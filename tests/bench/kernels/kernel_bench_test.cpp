// The parts of the benchmark of kernels that are not timing: summary arithmetic, and
// that peers and rebuilt records compute the same layer.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "host/backend/backend.h"
#include "host/space/workload.h"
#include "tests/bench/kernels/crowded_core.h"
#include "tests/bench/kernels/layer_figures.h"
#include "tests/bench/kernels/onednn_peer.h"
#include "tests/bench/kernels/openblas_peer.h"
#include "tests/bench/kernels/our_kernel.h"

namespace fettle::bench {
namespace {

LayerFigures layer(const std::string& title, double weight, double ours) {
  LayerFigures figures;
  figures.title = title;
  figures.weight = weight;
  figures.operations = 1000;
  figures.configuration = "{}";
  figures.ours.nanoseconds = {ours * 3, ours, ours / 2};
  figures.ours.firsts = {ours * 3, ours};
  return figures;
}

// Beside a round of ours that took 50.
PeerFigures peer(const std::string& name, double nanoseconds) {
  PeerFigures figures{name, "jit", "", {}, {}};
  figures.timing.nanoseconds = figures.timing.firsts = {nanoseconds};
  figures.ours.nanoseconds = figures.ours.firsts = {50};
  return figures;
}

TEST(KernelSummary, RatiosAreMediansAgainstTheFastestPeer) {
  std::vector<LayerFigures> layers = {layer("a", 1, 100), layer("b", 3, 100), layer("c", 1, 1),
                                      layer("d", 1, 50)};
  layers[0].peers = {peer("onednn", 300), peer("onednn_winograd", 200), peer("onednn_plain", 400)};
  layers[1].peers = {peer("onednn", 50), peer("onednn_winograd", 0), peer("onednn_plain", 100)};
  layers[1].peers[1].absent = "no such implementation";
  layers[2].missing = "no record";
  layers[3].peers = {peer("onednn_plain", 50)};
  EXPECT_EQ(layers[0].fastest_peer()->name, "onednn_winograd");
  EXPECT_EQ(layers[1].fastest_peer()->name, "onednn");
  EXPECT_EQ(layers[3].fastest_peer(), nullptr);
  EXPECT_DOUBLE_EQ(layers[0].gflops(layers[0].ours), 10);

  const NetworkSummary summarised = summarise(layers);
  EXPECT_EQ(summarised.all.layers, 4u);
  EXPECT_EQ(summarised.all.missing, 1u);
  const GroupSummary& summary = summarised.all;
  ASSERT_TRUE(summary.fastest && summary.plain);
  EXPECT_EQ(summary.fastest->layers, 2u);
  EXPECT_NEAR(summary.fastest->geomean, std::sqrt(2 * 0.5), 1e-12);
  EXPECT_DOUBLE_EQ(summary.fastest->least, 0.5);
  EXPECT_EQ(summary.fastest->least_layer, "b");
  EXPECT_DOUBLE_EQ(summary.fastest->weighted, (200 + 3 * 50) / 400.0);
  EXPECT_NEAR(summary.fastest->geomean_of_minima, std::sqrt(4 * 1.0), 1e-12);
  ASSERT_TRUE(summary.direct);
  EXPECT_NEAR(summary.direct->geomean, std::sqrt(3 * 0.5), 1e-12);
  EXPECT_EQ(summary.plain->layers, 3u);
  EXPECT_NEAR(summary.plain->geomean, std::cbrt(4.0), 1e-12);
  EXPECT_DOUBLE_EQ(summary.plain->least, 1);

  const nlohmann::json object = to_json(summarised);
  EXPECT_DOUBLE_EQ(object["min_ratio"], 0.5);
  EXPECT_NEAR(object["plain_geomean_ratio"].get<double>(), std::cbrt(4.0), 1e-12);
  const nlohmann::json line = to_json(layers[0]);
  EXPECT_DOUBLE_EQ(line["ratio"], 2);
  EXPECT_DOUBLE_EQ(line["plain_ratio"], 4);
  EXPECT_DOUBLE_EQ(line["peers"][0]["ratio_of_minima"], 6);
  EXPECT_EQ(to_json(layers[1])["peers"][1]["absent"], "no such implementation");
  EXPECT_EQ(to_json(layers[2])["missing"], "no record");
}

TEST(KernelSummary, NothingComparedIsNoRatio) {
  std::vector<LayerFigures> layers = {layer("a", 1, 1)};
  EXPECT_FALSE(summarise(layers).all.fastest);
  EXPECT_FALSE(to_json(summarise(layers)).contains("geomean_ratio"));
}

TEST(KernelSummary, OneDnnCountsInTheMemoryWhereItIsFaster) {
  LayerFigures figures = layer("a", 1, 100);
  figures.peers = {peer("onednn", 300), peer("onednn_huge_pages", 150), peer("onednn_plain", 200),
                   peer("onednn_plain_huge_pages", 250)};
  EXPECT_EQ(figures.peer("onednn")->name, "onednn_huge_pages");
  EXPECT_EQ(figures.peer("onednn_plain")->name, "onednn_plain");
  EXPECT_EQ(figures.fastest_peer()->name, "onednn_huge_pages");
  figures.peers[1].absent = "after it was timed: its output holds NaN";
  EXPECT_EQ(figures.peer("onednn")->name, "onednn");
  EXPECT_EQ(figures.fastest_peer()->name, "onednn");
}

TEST(KernelSummary, MinimaAreOfAsManySamples) {
  LayerFigures figures = layer("a", 1, 100);
  figures.ours.firsts = {40, 90};  // before the other peers
  figures.peers = {peer("onednn", 300)};
  EXPECT_DOUBLE_EQ(figures.ratio_of_minima(figures.peers[0]), 6);
}

TEST(KernelSummary, GroupsAreApart) {
  std::vector<LayerFigures> layers = {layer("a", 1, 100), layer("b", 1, 100), layer("c", 1, 100)};
  layers[0].group = LayerGroup::Convolutions;
  layers[1].group = layers[2].group = LayerGroup::Products;
  layers[0].peers = {peer("onednn", 400)};
  layers[1].peers = {peer("onednn", 50)};
  layers[2].missing = "no record";
  const NetworkSummary summary = summarise(layers);
  ASSERT_EQ(summary.groups.size(), 2u) << "no others";
  EXPECT_DOUBLE_EQ(summary.groups.at(LayerGroup::Convolutions).fastest->geomean, 4);
  EXPECT_DOUBLE_EQ(summary.groups.at(LayerGroup::Products).fastest->geomean, 0.5);
  const nlohmann::json object = to_json(summary);
  EXPECT_DOUBLE_EQ(object["convolutions"]["geomean_ratio"], 4);
  EXPECT_DOUBLE_EQ(object["products"]["geomean_ratio"], 0.5);
  EXPECT_EQ(object["products"]["missing"], 1);
  EXPECT_NEAR(object["geomean_ratio"].get<double>(), std::sqrt(2), 1e-12);
}

TEST(KernelSummary, WhoIsAbsentIsNamedOnceForEachReason) {
  std::vector<LayerFigures> layers = {layer("a", 1, 100), layer("b", 1, 100), layer("c", 1, 100)};
  for (LayerFigures& each : layers) each.peers = {peer("onednn_winograd", 1)};
  layers[0].peers[0].absent = layers[2].peers[0].absent = "not implemented";
  layers[1].peers[0].absent = "its output holds NaN";
  const nlohmann::json absent = to_json(summarise(layers))["not_compared"];
  ASSERT_EQ(absent.size(), 2u);
  EXPECT_EQ(absent[0]["peer"], "onednn_winograd");
  EXPECT_EQ(absent[0]["why"], "not implemented");
  EXPECT_EQ(absent[0]["layers"], (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(absent[1]["layers"], std::vector<std::string>{"b"});
}

TEST(KernelSummary, RequiredLayersThatAreMissingAreNamed) {
  std::vector<LayerFigures> layers = {layer("a", 1, 100), layer("b", 1, 100), layer("c", 1, 100)};
  layers[0].required = layers[1].required = true;
  layers[1].missing = "no record";
  layers[2].missing = "no peer";
  EXPECT_EQ(missing_layers(layers), "b: no record");
  layers[1].required = false;
  EXPECT_EQ(missing_layers(layers), "");
}

TEST(KernelLayer, GroupsFollowTheOperator) {
  const auto group = [](const char* text) {
    return group_of(*space::Workload::parse(std::string(text)));
  };
  EXPECT_EQ(group(R"({"op":"conv2d","height":6,"width":6,"in_channels":4,"out_channels":4,
    "kernel":[1,1]})"),
            LayerGroup::Convolutions);
  EXPECT_EQ(group(R"({"op":"depthwise_conv2d","height":6,"width":6,"channels":4,"kernel":[3,3]})"),
            LayerGroup::Convolutions);
  EXPECT_EQ(group(R"({"op":"dense","in_features":4,"out_features":4})"), LayerGroup::Products);
  EXPECT_EQ(group(R"({"op":"batch_matmul","batch":3,"m":7,"n":20,"k":9})"), LayerGroup::Products);
  EXPECT_EQ(group(R"({"op":"softmax","batch":6,"features":40})"), LayerGroup::Others);
}

TEST(KernelTiming, MedianOfEvenAndOdd) {
  EXPECT_DOUBLE_EQ((Timing{{5, 1, 3}, 0, {}}.median()), 3);
  EXPECT_DOUBLE_EQ((Timing{{4, 1, 3, 2}, 0, {}}.median()), 2.5);
  EXPECT_DOUBLE_EQ((Timing{{1}, 0, {4, 2, 3}}.least()), 2) << "of the first samples";
}

// Counts its runs; a turn is two warm-ups and one sample.
class CountingContender final : public Contender {
 public:
  const std::string& name() const override { return name_; }
  const std::string& implementation() const override { return name_; }
  Result<void> run(std::uint32_t times) override {
    calls.push_back(times);
    if (calls.size() > fail_after) return Error{ErrorCode::Crash, "broken", {}};
    return {};
  }
  Result<std::vector<float>> output() override { return std::vector<float>{}; }
  std::vector<std::uint32_t> calls;
  std::size_t fail_after = 1000;

 private:
  std::string name_ = "counting";
};

TEST(KernelTiming, EachContenderOnceARoundAndFailuresEndIt) {
  CountingContender one, two;
  std::vector<Contender*> both = {&one, &two};
  auto timings = alternate(both, {.rounds = 4, .sample_ms = 0.01});
  ASSERT_TRUE(timings.ok());
  ASSERT_EQ(timings->size(), 2u);
  for (const Timing& timing : *timings) {
    EXPECT_EQ(timing.nanoseconds.size(), 4u);
    EXPECT_EQ(timing.firsts.size(), 4u) << "however many were taken again";
  }
  const unsigned retaken = (*timings)[0].disturbed;  // this machine may be busy
  EXPECT_GE(one.calls.size(), 4u + 2 * 4u);
  EXPECT_LE(one.calls.size(), 4u + 2 * 4u + retaken);
  two.fail_after = two.calls.size();
  EXPECT_EQ(alternate(both, {}).error().code, ErrorCode::Crash);
}

// A run takes seven nanoseconds by its own clock.
class TimedContender final : public Contender {
 public:
  const std::string& name() const override { return name_; }
  const std::string& implementation() const override { return name_; }
  Result<void> run(std::uint32_t times) override { return took_ = 7.0 * times, Result<void>(); }
  double device_nanoseconds() const override { return took_; }
  Result<std::vector<float>> output() override { return std::vector<float>{}; }

 private:
  std::string name_ = "timed";
  double took_ = 0;
};

TEST(KernelTiming, ADevicesOwnClockCounts) {
  TimedContender one;
  Contender* const all[] = {&one};
  const auto timings = alternate(all, {.rounds = 3, .sample_ms = 0.001});
  ASSERT_TRUE(timings.ok());
  EXPECT_EQ(timings->front().nanoseconds, (std::vector<double>{7, 7, 7}));
}

// Each other sample is slow, and tells that it was interrupted, where it tells it at all.
class InterruptedContender final : public Contender {
 public:
  explicit InterruptedContender(bool tells) : tells_(tells) {}
  const std::string& name() const override { return name_; }
  const std::string& implementation() const override { return name_; }
  Result<void> run(std::uint32_t times) override {
    const bool sample = times == kSample;
    const bool slow = sample && ++samples_ % 2 == 1;
    took_ = (slow ? 100.0 : 7.0) * times;
    interruptions_ += slow && tells_;
    return {};
  }
  double device_nanoseconds() const override { return took_; }
  long interruptions() const override { return interruptions_; }
  Result<std::vector<float>> output() override { return std::vector<float>{}; }

  static constexpr std::uint32_t kSample = 1000;  // runs, of 7 us

 private:
  bool tells_;
  std::string name_ = "interrupted";
  double took_ = 0;
  long interruptions_ = 0;
  unsigned samples_ = 0;
};

TEST(KernelTiming, WhatAContenderTellsOfItsInterruptionsIsTakenAgain) {
  InterruptedContender one(true), silent(false);
  Contender* const both[] = {&one, &silent};
  const auto timings = alternate(both, {.rounds = 2, .sample_ms = 0.007});
  ASSERT_TRUE(timings.ok());
  EXPECT_EQ((*timings)[0].nanoseconds, (std::vector<double>{7, 7}));
  EXPECT_EQ((*timings)[0].firsts, (std::vector<double>{100, 100}));
  EXPECT_EQ((*timings)[0].disturbed, 2u);
  EXPECT_EQ((*timings)[1].nanoseconds, (std::vector<double>{100, 7}));
  EXPECT_EQ((*timings)[1].disturbed, 0u);
}

TEST(KernelTiming, AProcessThatIsAskedTellsItsOwnInterruptions) {
  CrowdedCore crowded;
  auto other = AskedProcess::start("other", {"sh", "-c", "while :; do :; done"}, {crowded.core()});
  auto idle = AskedProcess::start("idle", {"sleep", "100"}, {crowded.core()});
  ASSERT_TRUE(other.ok() && idle.ok());
  crowded.leave();
  const long before = (*other)->interruptions(), of_idle = (*idle)->interruptions();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_GE((*other)->interruptions() - before, kManyInterruptions);
  EXPECT_LT((*idle)->interruptions() - of_idle, kManyInterruptions);
}

struct SmallLayer {
  const char* name;
  const char* workload;
};
void PrintTo(const SmallLayer& layer, std::ostream* out) { *out << layer.name; }

class KernelPeers : public ::testing::TestWithParam<SmallLayer> {};

// The largest difference; infinity when the sizes differ.
double off(const Result<std::vector<float>>& actual, const std::vector<float>& expected) {
  if (!actual || actual->size() != expected.size()) return INFINITY;
  double most = 0;
  for (std::size_t i = 0; i < actual->size(); ++i) {
    most = std::max(most, std::fabs(double{(*actual)[i]} - double{expected[i]}));
  }
  return most;
}

TEST_P(KernelPeers, ComputeWhatTheReferenceSays) {
  auto workload = space::Workload::parse(std::string(GetParam().workload));
  ASSERT_TRUE(workload.ok()) << workload.error().text();
  auto layer = make_layer(*workload);
  ASSERT_TRUE(layer.ok()) << layer.error().text();
  // Sums of K terms in float, in an order of the library's own.
  const double tolerance = 16 * (layer->tolerance.absolute + layer->tolerance.relative);
  for (const auto& [kind, memory] : {std::pair{OneDnnKind::Any, OneDnnMemory::Own},
                                     std::pair{OneDnnKind::Any, OneDnnMemory::HugePages},
                                     std::pair{OneDnnKind::Plain, OneDnnMemory::Own},
                                     std::pair{OneDnnKind::Plain, OneDnnMemory::HugePages}}) {
    auto peer = make_onednn_peer(*layer, kind, memory);
    ASSERT_TRUE(peer.ok()) << peer.error().text();
    EXPECT_EQ((*peer)->name(), onednn_peer_name(kind, memory));
    EXPECT_TRUE((*peer)->check(*layer).ok());
    EXPECT_LE(off((*peer)->output(), layer->expected), tolerance) << (*peer)->implementation();
    ASSERT_TRUE((*peer)->run(3).ok());
    EXPECT_LE(off((*peer)->output(), layer->expected), tolerance) << "inputs are fresh again";
  }
  auto winograd = make_onednn_peer(*layer, OneDnnKind::Winograd, OneDnnMemory::HugePages);
  if (winograd) {
    EXPECT_LE(off((*winograd)->output(), layer->expected), 1e-3) << (*winograd)->implementation();
  } else {
    EXPECT_EQ(winograd.error().code, ErrorCode::Unsupported);
  }
  auto blas = make_openblas_peer(*layer, 1);
  ASSERT_EQ(blas.ok(), layer->kind == LayerKind::Dense && !layer->int8 && !layer->gelu);
  if (blas) {
    EXPECT_LE(off((*blas)->output(), layer->expected), tolerance);
  }
}

TEST_P(KernelPeers, OursIsRebuiltFromTheRecordAndChecked) {
  auto workload = space::Workload::parse(std::string(GetParam().workload));
  ASSERT_TRUE(workload.ok()) << workload.error().text();
  auto layer = make_layer(*workload);
  ASSERT_TRUE(layer.ok()) << layer.error().text();
  auto device = open_local_cpu(1);
  ASSERT_TRUE(device.ok()) << device.error().text();
  auto target = space::cpu_target_for((*device)->info(), 1);
  ASSERT_TRUE(target.ok()) << target.error().text();
  auto task = backend::open_task(workload->dag(), target->target());
  ASSERT_TRUE(task.ok()) << task.error().text();
  const space::SearchSpace* space = &(*task)->space();
  std::mt19937_64 rng(1);
  records::TuningRecord record;
  record.target = target->canonical();
  record.configuration = space->to_json(space->random(rng));
  auto ours = make_our_kernel(**device, *layer, record, 1);
  ASSERT_TRUE(ours.ok()) << ours.error().text();
  EXPECT_LE(off((*ours)->output(), layer->our_expected),
            layer->tolerance.absolute + 4 * layer->tolerance.relative);
  ours->reset();
  layer->our_expected.back() += 1;
  EXPECT_EQ(make_our_kernel(**device, *layer, record, 1).error().code, ErrorCode::WrongAnswer);
}

INSTANTIATE_TEST_SUITE_P(
    Small, KernelPeers,
    ::testing::Values(
        SmallLayer{"conv", R"({"op":"conv2d","height":10,"width":9,"in_channels":16,
          "out_channels":32,"kernel":[3,3],"pad":[1,1],"tail":["bias","add","relu"]})"},
        SmallLayer{"strided", R"({"op":"conv2d","batch":2,"height":11,"width":9,"in_channels":5,
          "out_channels":7,"kernel":[3,2],"stride":[2,1],"pad":[1,0],"dilation":[1,2],
          "tail":["bias"]})"},
        SmallLayer{"pointwise", R"({"op":"conv2d","height":6,"width":6,"in_channels":24,
          "out_channels":16,"kernel":[1,1],"tail":["relu"]})"},
        SmallLayer{"depthwise", R"({"op":"depthwise_conv2d","height":9,"width":8,"channels":24,
          "kernel":[3,3],"stride":[2,2],"pad":[1,1],"tail":["bias","relu"]})"},
        SmallLayer{"grouped", R"({"op":"conv2d","height":9,"width":8,"in_channels":16,
          "out_channels":24,"groups":4,"kernel":[3,3],"pad":[1,1],"tail":["bias","relu"]})"},
        SmallLayer{"channels_first", R"({"op":"conv2d","layout":"NCHW","height":10,"width":9,
          "in_channels":16,"out_channels":32,"kernel":[3,2],"stride":[2,1],"pad":[1,1],
          "tail":["bias","add","relu"]})"},
        SmallLayer{"depthwise_first", R"({"op":"depthwise_conv2d","layout":"NCHW","height":9,
          "width":8,"channels":24,"kernel":[3,3],"pad":[1,1],"tail":["bias"]})"},
        SmallLayer{"dense", R"({"op":"dense","in_features":96,"out_features":40,
          "tail":["bias","relu"]})"},
        SmallLayer{"dense_batch", R"({"op":"dense","batch":5,"in_features":33,"out_features":17,
          "tail":["bias","add"]})"},
        SmallLayer{"volume", R"({"op":"conv3d","depth":5,"height":7,"width":6,"in_channels":16,
          "out_channels":16,"kernel":[2,3,3],"stride":[2,1,1],"pad":[1,1,0],
          "tail":["bias","relu"]})"},
        SmallLayer{"dense_gelu", R"({"op":"dense","batch":5,"in_features":33,"out_features":17,
          "tail":["bias","gelu"]})"},
        SmallLayer{"batch_matmul", R"({"op":"batch_matmul","batch":3,"m":7,"n":20,"k":9})"},
        SmallLayer{"softmax", R"({"op":"softmax","batch":6,"features":40})"},
        SmallLayer{"layer_norm", R"({"op":"layer_norm","batch":6,"features":48})"},
        SmallLayer{"int8_volume", R"({"op":"conv3d","depth":4,"height":6,"width":6,
          "in_channels":16,"out_channels":32,"kernel":[3,3,3],"pad":[1,1,1],"dtype":"int8",
          "tail":["bias"]})"},
        SmallLayer{"int8", R"({"op":"conv2d","height":10,"width":9,"in_channels":20,
          "out_channels":40,"kernel":[3,3],"pad":[1,1],"dtype":"int8","tail":["bias","relu"]})"},
        SmallLayer{"int8_dense", R"({"op":"dense","batch":3,"in_features":96,"out_features":40,
          "dtype":"int8","tail":["bias"]})"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(KernelLayer, HalvesAreOursAndNoPeersOnACpu) {
  const auto workload = space::Workload::parse(std::string(
      R"({"op":"dense","batch":3,"in_features":40,"out_features":24,"dtype":"float16",
          "tail":["bias","relu"]})"));
  ASSERT_TRUE(workload.ok()) << workload.error().text();
  const auto layer = make_layer(*workload);
  ASSERT_TRUE(layer.ok()) << layer.error().text();
  EXPECT_EQ(as_floats(as_bytes(layer->expected, output_type(*layer)), output_type(*layer)),
            layer->expected);
  EXPECT_EQ(make_onednn_peer(*layer, OneDnnKind::Any, OneDnnMemory::Own).error().code,
            ErrorCode::Unsupported);
  EXPECT_EQ(make_openblas_peer(*layer, 1).error().code, ErrorCode::Unsupported);
  auto device = open_local_cpu(1);
  ASSERT_TRUE(device.ok()) << device.error().text();
  const auto target = space::cpu_target_for((*device)->info(), 1);
  ASSERT_TRUE(target.ok());
  const auto task = backend::open_task(workload->dag(), target->target());
  if (!task) GTEST_SKIP() << task.error().text();  // a CPU that converts no float16
  std::mt19937_64 rng(1);
  const auto configuration = (*task)->space().to_json((*task)->space().random(rng));
  auto built = build(*layer, configuration, target->target());
  ASSERT_TRUE(built.ok()) << built.error().text();
  auto ours = make_built_kernel(**device, *layer, std::move(*built), configuration, 1);
  ASSERT_TRUE(ours.ok()) << ours.error().text();
  const auto output = (*ours)->output();
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(wrong_answer(*output, *layer), "");
}

TEST(KernelLayer, WhatPeersDoNotKnowIsRefused) {
  auto workload = space::Workload::parse(std::string(
      R"({"op":"conv2d","height":6,"width":6,"in_channels":4,"out_channels":4,"kernel":[1,1],
          "tail":["relu","bias"]})"));
  ASSERT_TRUE(workload.ok()) << workload.error().text();
  EXPECT_EQ(make_layer(*workload).error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace fettle::bench
