// A network of the zoo from its file to one that runs: `fettle build`, `fettle run`.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/tensor_files/npy.h"
#include "tests/e2e/tune_support.h"

namespace fettle::testing {
namespace {

using std::chrono::seconds;

class BuildNetwork : public TuneTest {
 protected:
  BuildNetwork() { model = folder.file("squeezenet.onnx"); }
  void SetUp() override {
    const auto wrote = run_program({FETTLE_PROGRAM, "zoo", "squeezenet-1.1", "-o", model});
    ASSERT_EQ(wrote.status, 0) << wrote.err;
  }
  ProgramResult build(const std::string& file, std::vector<std::string> more) {
    std::vector<std::string> words = {FETTLE_PROGRAM, "build", model, "-o", folder.file(file)};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words, seconds(200), environment());
  }
  nlohmann::json built(const std::string& file, std::vector<std::string> more) {
    more.push_back("--json");
    const auto result = build(file, std::move(more));
    EXPECT_EQ(result.status, 0) << result.err;
    return nlohmann::json::parse(result.out, nullptr, false);
  }
  // Its 1,000 scores for the same random image.
  std::vector<float> scores(const std::string& file) {
    const std::string to = folder.file(file + ".outputs");
    const auto ran = run_program(
        {FETTLE_PROGRAM, "run", folder.file(file), "--random", "7", "--runs", "2", "--output", to},
        seconds(60), environment());
    EXPECT_EQ(ran.status, 0) << ran.err;
    std::vector<float> values;
    for (const auto& entry : std::filesystem::directory_iterator(to)) {
      const auto array = parse_npy(contents_of(entry.path()));
      EXPECT_TRUE(array) << entry.path();
      if (!array) continue;
      values.resize(array->bytes.size() / sizeof(float));
      std::memcpy(values.data(), array->bytes.data(), array->bytes.size());
    }
    EXPECT_EQ(values.size(), 1000u);
    return values;
  }
  static std::string contents_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  std::string model;
};

TEST_F(BuildNetwork, NeverTunedItRunsAtOnceAndIsTheSameEachTime) {
  const auto plain = built("a.fettle", {});
  EXPECT_EQ(plain["untuned"], plain["layers"]);
  EXPECT_LE(plain["arena_bytes"].get<double>(), 1.1 * plain["live_bytes"].get<double>());
  built("b.fettle", {});
  EXPECT_EQ(contents_of(folder.file("a.fettle")), contents_of(folder.file("b.fettle")));
  const auto timed = built("c.fettle", {"--in-place", "2"});
  EXPECT_GT(timed["expected_ns"], 0);
  EXPECT_EQ(timed["layers_without_time"], 0);
  const auto one = scores("a.fettle"), other = scores("c.fettle");
  ASSERT_EQ(one.size(), other.size());
  float largest = 0;
  for (const float score : one) largest = std::max(largest, std::fabs(score));
  ASSERT_GT(largest, 0);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], other[i], 1e-4f * largest);
}

// A report among its bytes would make it none.
TEST_F(BuildNetwork, OnStandardOutputThereIsTheFileAlone) {
  for (const bool json : {false, true}) {
    std::vector<std::string> words = {FETTLE_PROGRAM, "build", model, "-o", "-"};
    if (json) words.emplace_back("--json");
    const auto piped = run_program(words, seconds(200), environment());
    ASSERT_EQ(piped.status, 0) << piped.err;
    if (!json) built("a.fettle", {});
    EXPECT_TRUE(piped.out == contents_of(folder.file("a.fettle")));
    EXPECT_NE(piped.err.find(json ? "\"layers\":" : " layers: "), std::string::npos) << piped.err;
  }
  const auto page = run_program({FETTLE_PROGRAM, "run", folder.file("a.fettle"), "--runs", "2",
                                 "--random", "1", "--profile", "--html", "-", "--json"},
                                seconds(60), environment());
  ASSERT_EQ(page.status, 0) << page.err;
  EXPECT_TRUE(page.out.starts_with("<!DOCTYPE html>")) << page.out.substr(0, 60);
  EXPECT_TRUE(page.out.ends_with("</html>\n")) << "and nothing behind it";
}

TEST_F(BuildNetwork, TakesTheRecordsOfEachTask) {
  const auto tuned = run_program(
      {FETTLE_PROGRAM, "tune", model, "--quiet", "--db", db, "--repeat", "3", "--min-repeat-ms",
       "1", "--searcher", "random", "--scheduler", "round-robin", "--trials", "60"},
      seconds(300), environment());
  ASSERT_EQ(tuned.status, 0) << tuned.err;
  const auto network = built("t.fettle", {"--db", db});
  EXPECT_EQ(network["device"], "local");
  EXPECT_EQ(network["tuned"].get<int>() + 1, network["layers"].get<int>())
      << "all but the copy of the image: " << network;
  const auto other = build("x.fettle", {"--db", db, "--device", "rk3399"});
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.err.find("has no measured trial of rk3399"), std::string::npos) << other.err;
  const auto threads = build("x.fettle", {"--db", db, "--threads", "64"});
  EXPECT_NE(threads.err.find("has no measured trial with 64 threads"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.file("x.fettle")));
}

TEST_F(BuildNetwork, MistakesAreOneLineEach) {
  const auto said = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {FETTLE_PROGRAM, "build"});
    const auto result = run_program(words, seconds(60), environment());
    EXPECT_NE(result.status, 0);
    return result.err;
  };
  EXPECT_NE(said({"resnet-18"}).find("is no ONNX file"), std::string::npos);
  EXPECT_NE(said({folder.file("none.onnx")}).find("cannot be read"), std::string::npos);
  EXPECT_NE(said({model, "--db", folder.file("none.db")}).find("none.db"), std::string::npos);
  EXPECT_NE(said({model, "--profile", "rk3399-big", "--db", db}).find("excludes"),
            std::string::npos);
  EXPECT_NE(said({model, "--profile", "rk3399-big", "--device", "local"}).find("excludes"),
            std::string::npos);
  EXPECT_NE(said({model, "--broker", "tcp://127.0.0.1:1", "--db", db}).find("--broker is for"),
            std::string::npos);
  EXPECT_NE(said({model, "--in-place", "1"}).find("--in-place"), std::string::npos);
  EXPECT_NE(said({model, "--device", "nothing"}).find("not \"nothing\""), std::string::npos);
  EXPECT_NE(said({model, "-o", folder.file("no/such/folder.fettle")}).find("no/such"),
            std::string::npos);
  const std::string whole = contents_of(model);
  std::ofstream(folder.file("cut.onnx"), std::ios::binary) << whole.substr(0, whole.size() / 2);
  EXPECT_NE(said({folder.file("cut.onnx")}).find("cut.onnx"), std::string::npos);
}

}  // namespace
}  // namespace fettle::testing
