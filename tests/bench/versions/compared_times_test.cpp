// The arithmetic of `fettle-bench versions`, on lines as `fettle-bench kernels` wrote them.
#include "tests/bench/versions/compared_times.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fettle::bench {
namespace {

// Real lines, of a run on mobilenet.
constexpr const char* kConvolution =
    R"({"best_onednn":"onednn","configuration":{"knobs":{"pad":[0],"reduce_inner":[3],"reduce_order":[2],"register_tile":[5,1,2,16],"skip":[2],"task_oc":[1],"task_order":[1],"task_x":[0],"task_y":[1],"tile_order":[2],"unroll":[1024]},"sketch":"cpu_tiled"},"direct_ratio":0.8237134279722148,"fettle":{"disturbed":1,"gflops":168.1213168155148,"ns_median":133706.11428571428,"ns_min":132948.22857142857},"layer":"conv2d 224x224x3→32 k3 s2 +bias+relu","peers":[{"disturbed":0,"gflops":204.10170710630422,"implementation":"brgconv:avx512_core","name":"onednn","ns_median":110135.52173913043,"ns_min":110135.52173913043,"ratio":0.8237134279722148,"ratio_of_minima":0.8284090951987251},{"absent":"onednn_winograd: could not create a primitive descriptor iterator","name":"onednn_winograd"},{"disturbed":0,"gflops":204.6316406081478,"implementation":"brgconv:avx512_core","name":"onednn_plain","ns_median":109850.30434782608,"ns_min":109850.30434782608,"ratio":0.821580261565966,"ratio_of_minima":0.826263768447334}],"plain_ratio":0.821580261565966,"ratio":0.8237134279722148,"record":1,"tuned_threads":1,"weight":1.0})"
    "\n";
constexpr const char* kSoftmax =
    R"({"layer":"softmax 1000","missing":"no peer for softmax","weight":1.0})"
    "\n";
constexpr const char* kSummary =
    R"({"benchmark":"kernels","cpu":"AMD EPYC x1","direct_geomean_ratio":0.7787576626009691,"geomean_ratio":0.7787576626009691,"layers":22,"min_ratio":0.13683699410829647,"missing":2,"network":"mobilenet","onednn":"2.6.3","summary":true,"threads":1})"
    "\n";

TEST(VersionsKernelRun, ReadsTimesAndNamesWhatIsMissing) {
  const std::string convolution = kConvolution;
  const auto run = parse_kernel_run(convolution + kSoftmax + kSummary);
  ASSERT_TRUE(run) << run.error().text();
  const std::string title = "conv2d 224x224x3→32 k3 s2 +bias+relu";
  EXPECT_EQ(run->layers, (std::vector<std::string>{title, "softmax 1000"}));
  ASSERT_TRUE(run->times.contains(title));
  EXPECT_DOUBLE_EQ(run->times.at(title).nanoseconds, 133706.11428571428);
  EXPECT_DOUBLE_EQ(run->times.at(title).onednn_ratio.value(), 0.8237134279722148);
  EXPECT_EQ(run->missing.at("softmax 1000"), "no peer for softmax");
  const auto twice = parse_kernel_run(convolution + kConvolution + kSummary);
  ASSERT_TRUE(twice);
  EXPECT_TRUE(twice->times.contains(title + " (2)"));
}

TEST(VersionsKernelRun, RefusesLinesThatAreNoneAndARunWithoutItsEnd) {
  const auto error_of = [](const std::string& lines) {
    const auto run = parse_kernel_run(lines);
    return run ? "none" : run.error().text();
  };
  const std::string convolution = kConvolution;
  EXPECT_NE(error_of(convolution + kSoftmax).find("no summary after 2 layers"), std::string::npos);
  EXPECT_NE(error_of("").find("no summary"), std::string::npos);
  EXPECT_NE(error_of(convolution + "warning: hot\n" + kSummary).find("'warning: hot'"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"layer":"conv2d","fettle":{"ns_median":0}})"
                     "\n" +
                     std::string(kSummary)),
            "none")
      << "neither a time nor a reason";
}

KernelRun run_of(std::vector<std::pair<std::string, double>> times) {
  KernelRun run;
  for (const auto& [title, nanoseconds] : times) {
    run.layers.push_back(title);
    if (nanoseconds > 0) {
      run.times[title] = {nanoseconds, 1000 / nanoseconds};
    } else {
      run.missing[title] = "no record";
    }
  }
  return run;
}

TEST(VersionsCompare, MediansOfTurnsAndTheBestSeedOfEachSide) {
  // Baseline: seed 1 has medians of 200 and 90, seed 2 of 100 and 95.
  const KernelRuns baseline = {{run_of({{"a", 200}, {"b", 90}}), run_of({{"a", 900}, {"b", 80}}),
                                run_of({{"a", 190}, {"b", 100}})},
                               {run_of({{"a", 100}, {"b", 95}}), run_of({{"a", 100}, {"b", 95}}),
                                run_of({{"a", 400}, {"b", 95}})}};
  const KernelRuns candidate = {{run_of({{"a", 50}, {"b", 180}}), run_of({{"a", 50}, {"b", 180}}),
                                 run_of({{"a", 50}, {"b", 360}})}};
  const ComparedNetwork network = compare("net", baseline, candidate);
  ASSERT_EQ(network.layers.size(), 2u);
  const ComparedLayer &a = network.layers[0], &b = network.layers[1];
  EXPECT_EQ(a.title, "a");
  EXPECT_DOUBLE_EQ(a.baseline.nanoseconds, 100);
  EXPECT_DOUBLE_EQ(a.baseline.onednn_ratio.value(), 10);
  EXPECT_DOUBLE_EQ(a.ratio(), 2);
  EXPECT_EQ(a.of_turns, (std::vector<double>{2, 2, 8}));
  EXPECT_DOUBLE_EQ(b.ratio(), 0.5);
  EXPECT_EQ(b.of_turns, (std::vector<double>{0.5, 80.0 / 180, 100.0 / 360}));

  ComparedVersions versions{{{"net", 1, 100, 110}, {"net", 2, 100, 1000.0 / 11}}, {network}};
  EXPECT_NEAR(versions.kernels().geomean, 1, 1e-12);
  EXPECT_NEAR(versions.kernels().least, std::sqrt(2 * 80.0 / 180), 1e-12);
  EXPECT_NEAR(versions.kernels().most, std::sqrt(8 * 100.0 / 360), 1e-12);
  EXPECT_NEAR(versions.trials_per_hour().geomean, 1, 1e-12);
  EXPECT_NEAR(versions.trials_per_hour().most, 1.1, 1e-12);
}

TEST(VersionsCompare, AMissingLayerIsNamedAndALostOneFailsTheGate) {
  const ComparedNetwork network =
      compare("net", {{run_of({{"a", 100}, {"pool", 0}, {"b", 100}})}},
              {{run_of({{"a", 100}, {"pool", 0}, {"b", 0}, {"new", 50}})}});
  ASSERT_EQ(network.layers.size(), 1u);
  EXPECT_EQ(network.missing_in_candidate,
            (std::map<std::string, std::string>{{"b", "no record"}, {"pool", "no record"}}));
  EXPECT_EQ(network.missing_in_baseline.at("new"), "no layer of that name there");
  EXPECT_EQ(network.lost(), std::vector<std::string>{"b"});
  const auto reasons = slower_because({{{"net", 1, 100, 200}}, {network}});
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0], "b of net is lost: no record");
}

// A layer timed in some turns only counts for no median.
TEST(VersionsCompare, ASeedThatMissesATurnOfALayerIsLeftOutForIt) {
  const KernelRuns half = {{run_of({{"a", 10}}), run_of({{"a", 0}})},
                           {run_of({{"a", 80}}), run_of({{"a", 80}})}};
  const KernelRuns whole = {{run_of({{"a", 40}}), run_of({{"a", 40}})}};
  const ComparedNetwork network = compare("net", half, whole);
  ASSERT_EQ(network.layers.size(), 1u);
  EXPECT_DOUBLE_EQ(network.layers[0].baseline.nanoseconds, 80);
}

TEST(VersionsGate, HoldsBothFiguresToTheirLeast) {
  const auto judged = [](double candidate_ns, double per_hour) {
    return slower_because(
        {{{"net", 1, 100, per_hour}},
         {compare("net", {{run_of({{"a", 100}})}}, {{run_of({{"a", candidate_ns}})}})}});
  };
  EXPECT_EQ(judged(100.5, 100).size(), 0u);
  EXPECT_EQ(judged(102, 100), std::vector<std::string>{"kernels_geomean 0.9804 < 0.99"});
  EXPECT_EQ(judged(100, 99), std::vector<std::string>{"trials_per_hour_ratio 0.9900 < 1.00"});
  EXPECT_EQ(judged(102, 99).size(), 2u);
}

}  // namespace
}  // namespace fettle::bench
