// A layer's comparison with contenders of our own making, and `fettle-bench kernels` on small
// layers: who is left out is named, and what lacks a record fails the run.
#include "tests/bench/kernels/compare_layer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "host/backend/backend.h"
#include "host/space/cpu_target.h"
#include "tests/bench/kernels/our_kernel.h"
#include "tests/support/running_program.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

constexpr const char* kDense = R"({"op":"dense","in_features":24,"out_features":16})";
constexpr const char* kConvolution = R"({"op":"conv2d","height":6,"width":6,"in_channels":4,
  "out_channels":4,"kernel":[3,3],"pad":[1,1]})";
constexpr const char* kSoftmax = R"({"op":"softmax","batch":6,"features":40})";

space::Workload workload_of(const char* text) {
  return space::Workload::parse(std::string(text)).value();
}

// A record that its database takes: a random configuration for one thread of this machine.
records::TuningRecord record_of(const space::Workload& workload) {
  records::TuningRecord record;
  auto device = open_local_cpu(1);
  EXPECT_TRUE(device.ok());
  const auto target = space::cpu_target_for((*device)->info(), 1).value();
  const auto task = backend::open_task(workload.dag(), target.target());
  EXPECT_TRUE(task.ok());
  std::mt19937_64 rng(1);
  record.configuration = (*task)->space().to_json((*task)->space().random(rng));
  record.session = "5e55";
  record.workload = workload.canonical();
  record.workload_hash = "00112233aabbccdd";
  record.target = target.canonical();
  record.device_key = "local";
  record.board_id = "board";
  record.program_hash = std::string(64, 'a');
  wire::MeasurementT measurement;
  measurement.ticks_per_second = 1e9;
  measurement.number = 1;
  measurement.samples.emplace_back(1000, 1);
  measurement.median = measurement.interval_low = measurement.interval_high = 1000;
  record.outcome.body.Set(std::move(measurement));
  record.outcome.board_id = "board";
  return record;
}

// Right for so many runs, then off.
class Fading final : public Contender {
 public:
  Fading(std::string name, const Layer& layer, unsigned good)
      : name_(std::move(name)), layer_(layer), good_(good) {}
  const std::string& name() const override { return name_; }
  const std::string& implementation() const override { return name_; }
  Result<void> run(std::uint32_t times) override { return runs_ += times, Result<void>(); }
  double device_nanoseconds() const override { return 1000; }
  Result<std::vector<float>> output() override {
    auto values = layer_.expected;
    if (runs_ >= good_) values.front() += 1000;
    return values;
  }

 private:
  std::string name_;
  const Layer& layer_;
  unsigned good_, runs_ = 0;
};

class FakeSide final : public KernelSide {
 public:
  unsigned ours_good = 1'000'000, peer_good = 1'000'000;
  std::string heading() const override { return "fake"; }
  const char* fastest_title() const override { return "peer"; }
  std::vector<PeerColumn> columns() const override { return {}; }
  void describe(Json&) const override {}
  int fit(const std::string&) const override { return 1; }
  int threads_of(const std::string&) const override { return 1; }
  Result<std::unique_ptr<Contender>> ours(const Layer& layer,
                                          const records::TuningRecord&) override {
    return std::unique_ptr<Contender>(std::make_unique<Fading>("fettle", layer, ours_good));
  }
  std::vector<NamedPeer> peers(const Layer& layer) override {
    std::vector<NamedPeer> out;
    out.push_back({"gone", Error{ErrorCode::Unsupported, "gone: none here", {}}});
    for (const auto& [name, good] : {std::pair{"wrong", 0u}, std::pair{"peer", peer_good}}) {
      out.push_back(
          {name, std::unique_ptr<Contender>(std::make_unique<Fading>(name, layer, good))});
    }
    return out;
  }
  double pause_ms() const override { return 0; }
  const Peak* peak() const override { return nullptr; }
  Result<TimeSplit> split(const Layer&, const records::TuningRecord&) override {
    return Error{ErrorCode::Unsupported, "", {}};
  }
};

class ComparedLayer : public ::testing::Test {
 protected:
  Result<void> compare() {
    const KernelBench bench{options_, *database_, side_};
    figures_ = {};
    return compare_layer(bench, *layer_, figures_);
  }
  void store() { ASSERT_TRUE(database_->insert(record_of(layer_->workload)).ok()); }

  testing::ScratchFolder folder_;
  Result<records::Database> database_ = records::Database::open(folder_.file("r.db"));
  Result<Layer> layer_ = make_layer(workload_of(kDense));
  KernelBenchOptions options_{.rounds = 3, .sample_ms = 0.001};
  FakeSide side_;
  LayerFigures figures_;
};

TEST_F(ComparedLayer, PeersThatAreAbsentOrWrongAreNamed) {
  store();
  const auto done = compare();
  ASSERT_TRUE(done.ok()) << done.error().text();
  ASSERT_EQ(figures_.peers.size(), 3u);
  EXPECT_NE(figures_.peers[0].absent.find("none here"), std::string::npos);
  EXPECT_NE(figures_.peers[1].absent.find("its output is off"), std::string::npos);
  EXPECT_EQ(figures_.peers[2].absent, "");
  EXPECT_EQ(figures_.fastest_peer()->name, "peer");
  EXPECT_EQ(figures_.peers[2].timing.firsts.size(), 3u);
  EXPECT_EQ(figures_.peers[2].ours.firsts.size(), 3u) << "minima of as many samples";
}

TEST_F(ComparedLayer, APeerThatBecomesWrongDoesNotCount) {
  store();
  side_.peer_good = 4;
  const auto done = compare();
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_NE(figures_.peers[2].absent.find("after it was timed"), std::string::npos);
  EXPECT_EQ(figures_.fastest_peer(), nullptr);
}

TEST_F(ComparedLayer, OursThatBecomesWrongIsAnError) {
  store();
  side_.ours_good = 4;
  const auto done = compare();
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::WrongAnswer);
  EXPECT_NE(done.error().text().find("after it was timed"), std::string::npos)
      << done.error().text();
}

TEST_F(ComparedLayer, WithoutARecordThereIsNone) {
  EXPECT_EQ(compare().error().code, ErrorCode::NotFound);
}

// A database with a record of the dense layer, and a list of workloads.
class KernelProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    auto database = records::Database::open(db_);
    ASSERT_TRUE(database.ok()) << database.error().text();
    ASSERT_TRUE(database->insert(record_of(workload_of(kDense))).ok());
  }
  testing::ProgramResult run(std::vector<const char*> workloads,
                             const std::vector<std::string>& more = {}) {
    Json list = Json::array();
    for (const char* text : workloads) list.push_back(Json::parse(text));
    std::ofstream(folder_.file("list.json")) << Json{{"list", list}};
    std::vector<std::string> argv{FETTLE_BENCH_PROGRAM,
                                  "kernels",
                                  "--json",
                                  "--db",
                                  db_,
                                  "--network",
                                  folder_.file("list.json"),
                                  "--rounds",
                                  "2",
                                  "--sample-ms",
                                  "0.1",
                                  "--threads",
                                  "1"};
    argv.insert(argv.end(), more.begin(), more.end());
    return testing::run_program(argv);
  }
  static Json last_line(const std::string& lines) {
    std::istringstream all(lines);
    std::string last;
    for (std::string line; std::getline(all, line);) last = line;
    return Json::parse(last, nullptr, false);
  }

  testing::ScratchFolder folder_;
  std::string db_ = folder_.file("r.db");
};

TEST_F(KernelProgram, TellsWhereItsFiguresComeFrom) {
  const auto ran = run({kDense});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const Json told = last_line(ran.out);
  ASSERT_TRUE(told.is_object()) << ran.out;
  EXPECT_EQ(told["database"], db_);
  EXPECT_NE(told["command"].get<std::string>().find("kernels --json --db " + db_),
            std::string::npos);
  EXPECT_EQ(told["threads"], 1);
  EXPECT_NE(told["cpu"], "");
  EXPECT_NE(told["commit"], "");
  EXPECT_GT(told["products"]["geomean_ratio"].get<double>(), 0);
  EXPECT_FALSE(told.contains("convolutions"));
}

TEST_F(KernelProgram, AConvolutionWithoutARecordFailsTheRun) {
  const auto ran = run({kDense, kConvolution});
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(
      ran.err.find("not compared: " + workload_of(kConvolution).title() + ": no measured record"),
      std::string::npos)
      << ran.err;
  const Json told = last_line(ran.out);
  ASSERT_TRUE(told.is_object()) << ran.out;
  EXPECT_EQ(told["convolutions"]["missing"], 1);
  EXPECT_EQ(told["products"]["missing"], 0);
}

TEST_F(KernelProgram, ALayerThatWasAskedForMustBeThere) {
  EXPECT_EQ(run({kDense, kSoftmax}).status, 0);
  const std::string title = workload_of(kSoftmax).title();
  const auto ran = run({kDense, kSoftmax}, {"--layers", title});
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.err.find("not compared: " + title), std::string::npos) << ran.err;
  const auto none = run({kDense}, {"--layers", "no such layer"});
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.err.find("no such layer"), std::string::npos) << none.err;
}

}  // namespace
}  // namespace fettle::bench
