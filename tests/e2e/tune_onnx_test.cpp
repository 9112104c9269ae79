// A network of the zoo from its file to records: `fettle zoo`, `fettle tasks`, `fettle tune`.
#include "tests/e2e/tune_support.h"

namespace fettle::testing {
namespace {

using std::chrono::seconds;

class TuneOnnx : public TuneTest {
 protected:
  TuneOnnx() { model = folder.file("squeezenet.onnx"); }
  void SetUp() override {
    const auto wrote = run_program({FETTLE_PROGRAM, "zoo", "squeezenet-1.1", "-o", model});
    ASSERT_EQ(wrote.status, 0) << wrote.err;
  }
  std::string model;
};

TEST_F(TuneOnnx, EveryTaskHasARightRecord) {
  const auto listed = run_program({FETTLE_PROGRAM, "tasks", model, "--json"});
  ASSERT_EQ(listed.status, 0) << listed.err;
  std::map<std::string, double> weights;
  std::istringstream lines(listed.out);
  for (std::string line; std::getline(lines, line);) {
    const auto task = nlohmann::json::parse(line);
    weights[task["title"]] = task["weight"];
  }
  EXPECT_EQ(weights.at("conv2d 55x55x16→64 k1 s1 +bias+relu"), 2);

  const std::string trials = std::to_string(2 * weights.size());
  const auto result =
      run_program({FETTLE_PROGRAM, "tune", model, "--json", "--db", db, "--repeat", "3",
                   "--min-repeat-ms", "1", "--searcher", "random", "--trials", trials},
                  seconds(300), environment());
  ASSERT_EQ(result.status, 0) << result.err;
  const Session session = parse(result.out);
  ASSERT_EQ(session.summary["tasks"].size(), weights.size());
  double sum = 0;
  for (const auto& task : session.summary["tasks"]) {
    EXPECT_EQ(task["weight"], weights.at(task["title"]));
    ASSERT_GT(task["best_gflops"].get<double>() + task["best_ns"].get<double>(), 0) << task;
    sum += task["weight"].get<double>() * task["best_ns"].get<double>();
  }
  EXPECT_NEAR(session.summary["sum_ns"].get<double>(), sum, 1e-6 * sum);
  for (const auto& record : records()) {
    const wire::FailureT* failure = record.failure();
    EXPECT_TRUE(!failure || failure->error->code == ErrorCode::Disturbed)
        << failure->error->message;
    if (failure) continue;
    EXPECT_GT(record.measurement()->weights_bytes, 4'000'000u) << "as in its network";
  }
  // Times with weights in the caches are another thing: they are not gone on from.
  const auto warm = run_program(
      {FETTLE_PROGRAM, "tune", model, "--json", "--db", db, "--resume", "--weights", "warm",
       "--repeat", "3", "--min-repeat-ms", "1", "--searcher", "random", "--trials", "2"},
      seconds(300), environment());
  ASSERT_EQ(warm.status, 0) << warm.err;
  EXPECT_NE(warm.err.find("resuming: 0 trials"), std::string::npos) << warm.err;
  EXPECT_EQ(records().back().measurement()->weights_bytes, 0u);
}

TEST_F(TuneOnnx, MistakesAreOneLineEach) {
  const auto said = [&](std::vector<std::string> words) {
    words.insert(words.begin(), FETTLE_PROGRAM);
    const auto result = run_program(words);
    EXPECT_NE(result.status, 0);
    return result.err;
  };
  EXPECT_NE(said({"tasks", model, "--extent", "batch"}).find("is not NAME=NUMBER"),
            std::string::npos);
  EXPECT_NE(said({"tasks", "resnet-18", "--extent", "batch=1"}).find("is for ONNX files"),
            std::string::npos);
  EXPECT_NE(said({"tasks", folder.file("none.onnx")}).find("cannot be read"), std::string::npos);
  EXPECT_NE(said({"tune", "resnet-18", "--db", db, "--weights", "cold"})
                .find("does not say how large a network's weights are"),
            std::string::npos);
  EXPECT_NE(said({"zoo", "lenet"}).find("no network 'lenet'"), std::string::npos);
  EXPECT_NE(said({"tune", "--replay", FETTLE_RECORDING, "--extent", "a=1"}).find("excludes"),
            std::string::npos);
}

}  // namespace
}  // namespace fettle::testing
