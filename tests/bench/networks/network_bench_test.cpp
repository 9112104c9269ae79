// Whole networks beside peers: the protocol, with contenders that tests play
// (stand_in_contender.py), the arithmetic, the gate. FETTLE_NETWORK_PEERS_PYTHON names a Python
// that has the real peers.
#include "tests/bench/networks/network_bench.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/bench/networks/network_report.h"
#include "tests/support/running_program.h"

namespace fettle::bench {
namespace {

const std::vector<float> kInput{0.5F, -2, 1, 0.25F};

class NetworkTurns : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* bytes = reinterpret_cast<const char*>(kInput.data());
    ASSERT_TRUE(process::write_file(input_, {bytes, kInput.size() * sizeof(float)}));
  }
  std::vector<std::string> stand_in(double factor, const std::string& fault = "none") const {
    return {"python3", FETTLE_STAND_IN, std::to_string(factor), fault, input_};
  }
  // Its figures after the turns, beside another contender's, which nothing befalls.
  ContenderFigures after_turns(const std::vector<std::string>& argv, const TurnOptions& options) {
    ContenderFigures other, figures;
    other.name = "other", figures.name = "stand-in";
    std::vector<Entrant> entrants{{argv, &figures}, {stand_in(1), &other}};
    take_turns(entrants, kInput, {}, options);
    EXPECT_EQ(other.absent, "");
    EXPECT_EQ(other.slices_ns.size(), options.starts * options.rounds);
    return figures;
  }
  std::string absent(double factor, const std::string& fault) {
    const auto figures = after_turns(stand_in(factor, fault), {1, 2, 0.1});
    EXPECT_FALSE(figures.timed());
    EXPECT_TRUE(figures.slices_ns.empty());
    return figures.absent;
  }

  testing::ScratchFolder folder_;
  std::string input_ = folder_.file("input");
};

TEST_F(NetworkTurns, FillTheFiguresOfWhoIsRight) {
  const auto figures = after_turns(stand_in(1.00005), {2, 3, 0.1});
  EXPECT_EQ(figures.absent, "");
  EXPECT_EQ(figures.version, "1.5");
  EXPECT_EQ(figures.load_ms, 2.5);
  EXPECT_EQ(figures.slices_ns.size(), 6u);
  EXPECT_NEAR(figures.difference, 0.00005, 1e-6);
  EXPECT_GT(figures.quantile(0), 0);
}

TEST_F(NetworkTurns, NameWhoIsWrongOrUnable) {
  EXPECT_EQ(absent(1.002, "none"), "is wrong: off by 2.0e-03 of the largest output");
  EXPECT_EQ(absent(1, "short"), "has 2 outputs, not 4");
  EXPECT_EQ(absent(NAN, "none"), "output 0 is nan");
  EXPECT_EQ(absent(1, "start"), "stand-in gives up: no such library");
  EXPECT_EQ(absent(1, "run"), "stand-in has ended: a bad day");
  EXPECT_EQ(absent(1, "words"), "it says '12 mice'");
  EXPECT_EQ(absent(1, "few"), "it says '12'");
  const auto silent = after_turns({"true"}, {1, 1, 0.1});
  EXPECT_EQ(silent.absent, "stand-in gives up: it said nothing");
  const auto nowhere = after_turns({"/nowhere/peer"}, {1, 1, 0.1});
  EXPECT_NE(nowhere.absent.find("cannot start /nowhere/peer"), std::string::npos);
}

// Whose turn it is not takes no core.
TEST_F(NetworkTurns, StopThoseThatWait) {
  auto contender = NetworkContender::start("stand-in", stand_in(1), {});
  ASSERT_TRUE(contender.ok()) << contender.error().text();
  const auto state = [&] {
    const std::string file = "/proc/" + std::to_string((*contender)->pid()) + "/stat";
    for (int i = 0; i < 200; ++i) {
      const std::string stat = process::read_file(file);
      const std::size_t end = stat.rfind(')');
      if (end != stat.npos && stat[end + 2] == 'T') return 'T';
      usleep(1000);
    }
    return '?';
  };
  EXPECT_EQ(state(), 'T');
  (*contender)->wake();
  const auto runs = (*contender)->run(5);
  ASSERT_TRUE(runs.ok()) << runs.error().text();
  EXPECT_EQ(runs->size(), 5u);
  (*contender)->stop();
  EXPECT_EQ(state(), 'T');
}

ContenderFigures timed(const std::string& name, std::vector<double> slices) {
  ContenderFigures figures;
  figures.name = name;
  figures.slices_ns = std::move(slices);
  return figures;
}

NetworkFigures network_of(const std::string& name, double ours, double onnxruntime, double ncnn) {
  NetworkFigures network;
  network.network = name;
  network.ours = timed("fettle", {ours});
  network.peers = {timed("onnxruntime", {onnxruntime}), timed("ncnn", {ncnn})};
  return network;
}

TEST(NetworkFigures, AreMediansAndTheirRatios) {
  const auto contender = timed("ncnn", {4, 1, 3, 10, 2});
  EXPECT_EQ(contender.median(), 3);
  EXPECT_EQ(contender.quantile(0), 1);
  EXPECT_EQ(contender.quantile(1), 10);
  EXPECT_DOUBLE_EQ(contender.quantile(0.9), 7.6);
  NetworkFigures network = network_of("resnet-18", 10, 30, 20);
  EXPECT_EQ(network.best_peer()->name, "ncnn");
  EXPECT_EQ(network.ratio(network.best_peer()), 2.0);
  EXPECT_EQ(network.ratio(network.peer("onnxruntime")), 3.0);
  network.peers[1].absent = "wrong";
  EXPECT_EQ(network.best_peer()->name, "onnxruntime");
  EXPECT_EQ(network.peer("ncnn"), nullptr);
  network.ours = {};
  EXPECT_EQ(network.ratio(network.best_peer()), std::nullopt);
}

TEST(NetworkFigures, AreSummedUpForEachNumberOfThreads) {
  std::vector<NetworkFigures> networks{network_of("resnet-18", 10, 40, 20),
                                       network_of("vgg-16", 10, 90, 80),
                                       network_of("resnet-18", 5, 10, 20)};
  networks[2].threads = 2;
  networks.push_back(network_of("bert-base", 1, 1, 1));
  networks.back().ours = {};
  const auto summaries = summarise(networks);
  ASSERT_EQ(summaries.size(), 2u);
  EXPECT_EQ(summaries[0].networks, 3u);
  EXPECT_EQ(summaries[0].compared, 2u);
  EXPECT_DOUBLE_EQ(*summaries[0].geomean_ratio, 4);
  EXPECT_DOUBLE_EQ(*summaries[0].geomean_onnxruntime, 6);
  EXPECT_EQ(summaries[0].lowest_ratio, 2);
  EXPECT_EQ(summaries[0].lowest_network, "resnet-18");
  EXPECT_EQ(summaries[1].geomean_ratio, 2);
  EXPECT_EQ(to_json(summaries[1])["geomean_onnxruntime"], 2.0);
}

TEST(NetworkFigures, HoldOutputsToTheLargest) {
  double difference = 0;
  EXPECT_EQ(wrong_output({1, 99.995F}, {1, 100}, kOutputBound, difference), "");
  EXPECT_NEAR(difference, 5e-5, 1e-6);
  EXPECT_NE(wrong_output({1.2F, 100}, {1, 100}, kOutputBound, difference), "");
  EXPECT_NEAR(difference, 2e-3, 1e-6);
  EXPECT_EQ(wrong_output({0, 0}, {0, 0}, kOutputBound, difference), "");
}

TEST(NetworkGate, OpensForTheGoalOnly) {
  std::vector<NetworkFigures> networks{network_of("resnet-18", 10, 20, 16),
                                       network_of("vgg-16", 10, 22, 15)};
  EXPECT_EQ(gate_faults(networks, kGoal), std::vector<std::string>{});
  networks[0].peers[1].slices_ns = {15.9};
  EXPECT_EQ(gate_faults(networks, kGoal),
            std::vector<std::string>{"resnet-18 is 1.590, below 1.60"});
  EXPECT_EQ(gate_faults(networks, kResolved), std::vector<std::string>{});
  networks[0].peers[1].slices_ns = {40};
  networks[1].peers[1].slices_ns = {10.4};
  EXPECT_EQ(gate_faults(networks, kGoal),
            (std::vector<std::string>{"vgg-16 is 1.040, below 1.05",
                                      "geomean_ratio is 1.442, below 1.50"}));
}

TEST(NetworkGate, NamesWhoIsMissing) {
  std::vector<NetworkFigures> networks{network_of("resnet-18", 10, 40, 20)};
  networks[0].peers[1] = timed("ncnn", {});
  networks[0].peers[1].absent = "is wrong: off by 4.0e-03 of the largest output";
  EXPECT_EQ(gate_faults(networks, kGoal),
            std::vector<std::string>{"resnet-18, 1 thr.: ncnn: is wrong: off by 4.0e-03 of the "
                                     "largest output"});
  networks[0].ours = {};
  networks[0].ours.absent = "no net.fettle";
  const auto faults = gate_faults(networks, kResolved);
  ASSERT_EQ(faults.size(), 3u);
  EXPECT_EQ(faults[1], "resnet-18, 1 thr.: fettle: no net.fettle");
  EXPECT_EQ(faults[2], "geomean_ratio is 0.000, below 1.20");
  networks = {network_of("resnet-18", 10, 40, 20)};
  networks[0].threads = 2;
  EXPECT_EQ(gate_faults(networks, kGoal).size(), 1u);
}

TEST(NetworkReport, NamesTheBestAndTheAbsent) {
  NetworkFigures network = network_of("resnet-18", 10e6, 30e6, 20e6);
  network.peers.push_back(timed("mnn", {}));
  network.peers.back().absent = "cannot convert the model: Div";
  std::ostringstream out;
  print_network(network, out);
  EXPECT_NE(out.str().find("best peer: ncnn, 2.000 times our time\n"), std::string::npos);
  EXPECT_NE(out.str().find("not timed: mnn: cannot convert the model: Div\n"), std::string::npos);
  EXPECT_NE(out.str().find("10.00"), std::string::npos);
}

TEST(NetworkBench, RefusesInOneLine) {
  const auto said = [](std::vector<std::string> argv) {
    argv.insert(argv.begin(), {FETTLE_BENCH_PROGRAM, "networks", "--python", "python3"});
    const auto ran = testing::run_program(argv);
    EXPECT_NE(ran.status, 0);
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    return ran.err;
  };
  EXPECT_EQ(said({"--networks", "alexnet"}),
            "fettle-bench: no network 'alexnet' in the zoo (while timing alexnet)\n");
  EXPECT_EQ(said({"--net", "resnet-18"}), "fettle-bench: --net resnet-18: NAME=FILE is wanted\n");
  EXPECT_EQ(said({"--net", "resnet-19=x"}),
            "fettle-bench: --net resnet-19=x: 'resnet-19' is not among the networks\n");
  EXPECT_NE(said({"--threads", "1000"}).find("--threads 1000: there are"), std::string::npos);
  EXPECT_NE(said({"--peers", "tvm"}).find("--peers"), std::string::npos);
}

TEST(NetworkBench, TimesTheRealPeers) {
  const char* python = std::getenv("FETTLE_NETWORK_PEERS_PYTHON");
  if (python == nullptr) {
    GTEST_SKIP() << "FETTLE_NETWORK_PEERS_PYTHON names what toolchains/network_peers.sh prints";
  }
  const auto ran = testing::run_program(
      {FETTLE_BENCH_PROGRAM, "networks", "--networks", "squeezenet-1.1", "--rounds", "1",
       "--starts", "1", "--slice-ms", "1", "--json", "--gate=resolved", "--python", python},
      std::chrono::seconds(280));
  EXPECT_EQ(ran.status, 1);
  const auto network = nlohmann::json::parse(ran.out.substr(0, ran.out.find('\n')));
  ASSERT_EQ(network["peers"].size(), 4u);
  for (const auto& peer : network["peers"]) {
    EXPECT_TRUE(peer.contains("median_ms")) << peer.dump();
    EXPECT_LE(peer.value("difference", 1.0), kOutputBound) << peer.dump();
  }
  EXPECT_NE(ran.err.find("fettle: no net.fettle was given"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace fettle::bench
