// A quantised network for a CPU with an accelerator beside it: `fettle tune`, `build`, `run`.
#include "tests/e2e/tune_support.h"

namespace fettle::testing {
namespace {

using std::chrono::seconds;

class AcceleratedNetwork : public TuneTest {
 protected:
  AcceleratedNetwork() : model(folder.file("resnet.onnx")), file(folder.file("resnet.fettle")) {}
  void SetUp() override {
    const auto wrote =
        run_program({FETTLE_PROGRAM, "zoo", "resnet-18", "--int8", "--power-of-two", "-o", model},
                    seconds(120));
    ASSERT_EQ(wrote.status, 0) << wrote.err;
  }
  ProgramResult fettle(std::vector<std::string> words) {
    words.insert(words.begin(), FETTLE_PROGRAM);
    return run_program(words, seconds(300), environment());
  }
  nlohmann::json report(std::vector<std::string> words) {
    words.push_back("--json");
    const auto result = fettle(std::move(words));
    EXPECT_EQ(result.status, 0) << result.err;
    return nlohmann::json::parse(result.out, nullptr, false);
  }
  void refused(std::vector<std::string> words, const std::string& why) {
    const auto result = fettle(std::move(words));
    EXPECT_EQ(result.status, 1);
    EXPECT_NE(result.err.find(why), std::string::npos) << result.err;
  }
  std::string model, file;
};

TEST_F(AcceleratedNetwork, ItsPartIsTunedBuiltAndRun) {
  const auto tuned = fettle({"tune", model, "--device", "vta-sim", "--trials", "30", "--quiet",
                             "--searcher", "random", "--scheduler", "round-robin", "--db", db});
  ASSERT_EQ(tuned.status, 0) << tuned.err;
  EXPECT_NE(tuned.out.find("NCHW1n16c"), std::string::npos) << tuned.out;
  EXPECT_EQ(tuned.out.find("dense"), std::string::npos) << "the CPU's\n" << tuned.out;

  const auto built = report({"build", model, "--db", db, "--accelerator", "vta-sim", "-o", file});
  EXPECT_EQ(built["accelerated"], 19);
  EXPECT_GT(built["tuned"], 0);
  const auto run = report({"run", file, "--random", "7", "--runs", "2", "--profile"});
  int cycles = 0, milliseconds = 0;
  for (const auto& layer : run["layers"]) {
    (layer.contains("cycles") ? cycles : milliseconds) += 1;
  }
  EXPECT_EQ(cycles, 19) << run;
  EXPECT_EQ(cycles + milliseconds, built["layers"].get<int>());

  refused({"run", file, "--device", "local"}, "with an accelerator beside it");

  refused({"build", model, "--accelerator", "local", "-o", folder.file("x")},
          "local is no accelerator");
  refused({"build", model, "--device", "vta-sim", "-o", folder.file("x")},
          "name it with --accelerator");
  EXPECT_FALSE(std::filesystem::exists(folder.file("x")));
}

}  // namespace
}  // namespace fettle::testing
