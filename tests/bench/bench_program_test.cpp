// fettle-bench itself, briefly: that it runs, what its last line holds, and the
// agents' limits that do not depend on how busy this machine is.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "host/records/database.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

struct Output {
  int status = -1;
  std::vector<Json> lines;
};

Output run(const std::string& command) {
  Output output;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  std::string all;
  for (int c; (c = std::fgetc(pipe)) != EOF;) all += static_cast<char>(c);
  output.status = pclose(pipe);
  for (std::size_t from = 0, to; (to = all.find('\n', from)) != std::string::npos; from = to + 1) {
    output.lines.push_back(Json::parse(all.substr(from, to - from), nullptr, false));
    EXPECT_TRUE(output.lines.back().is_object()) << all.substr(from, to - from);
  }
  return output;
}

TEST(BenchProgram, PipelineEndsInASummary) {
  setenv("FETTLE_AGENT", FETTLE_AGENT_PROGRAM, 1);
  const Output output = run(FETTLE_BENCH " pipeline --kernel-ms 1 --trials 10 --json");
  ASSERT_EQ(output.status, 0);
  ASSERT_GE(output.lines.size(), 5u);
  const Json& summary = output.lines.back();
  EXPECT_EQ(summary.value("summary", false), true);
  for (const char* share : {"busy_share", "busy_share_overall", "supply_limited_share"}) {
    ASSERT_TRUE(summary.contains(share)) << share;
    EXPECT_GE(summary[share].get<double>(), 0) << share;
    EXPECT_LE(summary[share].get<double>(), 1) << share;
  }
  for (const char* figure : {"overhead_ms_median", "trials_per_hour", "kernel_ms_median"}) {
    ASSERT_TRUE(summary.contains(figure)) << figure;
    EXPECT_GT(summary[figure].get<double>(), 0) << figure;
  }
  EXPECT_EQ(summary["trials"].get<std::size_t>() + 1, output.lines.size()) << "a line per trial";
}

// A folder of its own, gone at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fettle-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// How far medians drift is the machine's matter; that both sessions measured the same
// configurations, and are in the database, is ours.
TEST(BenchProgram, RepeatMeasuresTheSameConfigurationsTwice) {
  setenv("FETTLE_AGENT", FETTLE_AGENT_PROGRAM, 1);
  const TemporaryFolder folder;
  const std::string db = folder.file("repeat.db");
  const Output drawn =
      run(FETTLE_BENCH " repeat --layers 7x7x512 --count 6 --rounds 2 --json --db " + db);
  ASSERT_EQ(drawn.status, 0);
  ASSERT_EQ(drawn.lines.size(), 7u);
  const Json& summary = drawn.lines.back();
  EXPECT_EQ(summary["configurations"], 6);
  EXPECT_EQ(summary["rounds"], 2);
  EXPECT_GE(summary["rank_correlation"].get<double>(), -1);
  EXPECT_LE(summary["rank_correlation"].get<double>(), 1);
  EXPECT_GE(summary["largest_drift"], summary["median_drift"]);
  auto database = records::Database::open(db);
  ASSERT_TRUE(database) << database.error().text();
  for (std::size_t i = 0; i + 1 < drawn.lines.size(); ++i) {
    const Json& line = drawn.lines[i];
    EXPECT_LT(line["records"][0], line["records"][1]);
    EXPECT_NEAR(line["drift"].get<double>(),
                line["ns"][1].get<double>() / line["ns"][0].get<double>() - 1, 1e-12);
    // Of the two rounds of each session, the faster one counts.
    std::vector<double> all;
    auto read = database->for_each({}, [&](const records::TuningRecord& record) {
      if (record.nanoseconds() && Json::parse(record.configuration) == line["configuration"]) {
        all.push_back(*record.nanoseconds());
      }
      return true;
    });
    ASSERT_TRUE(read);
    ASSERT_EQ(all.size(), 4u);
    EXPECT_EQ(line["ns"][0], std::min(all[0], all[1]));
    EXPECT_EQ(line["ns"][1], std::min(all[2], all[3]));
  }
  // And again those that this database holds now.
  const Output again =
      run(FETTLE_BENCH " repeat --layers 7x7x512 --count 4 --rounds 1 --json --db " + db +
          " --from " + db);
  ASSERT_EQ(again.status, 0);
  EXPECT_EQ(again.lines.back()["configurations"], 4);
}

TEST(BenchProgram, ADatabaseThatIsReadIsNamedAndNotMade) {
  const TemporaryFolder folder;
  const std::string none = folder.file("none.db");
  EXPECT_NE(
      run(FETTLE_BENCH " repeat --json --db " + folder.file("r.db") + " --from " + none).status, 0);
  EXPECT_NE(run(FETTLE_BENCH " prior --json --db " + none).status, 0);
  EXPECT_FALSE(std::filesystem::exists(none));
  EXPECT_FALSE(std::filesystem::exists(folder.file("r.db")));
}

TEST(BenchProgram, OutputThatCannotBeWrittenIsAnError) {
  const std::string search = FETTLE_BENCH
      " search --searcher grid --seeds 1 --trials 10 " FETTLE_RECORDINGS "/conv2d_7x7x512.jsonl.gz";
  EXPECT_EQ(run(search + " >/dev/null").status, 0);
  const int status = run(search + " >/dev/full").status;
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
}

// A user's kernel: a space with constraints, of knobs without features.
TEST(BenchProgram, ATenthOfAKernelsSpaceIsEnoughForTheDefaultSearcher) {
  const Output found =
      run(FETTLE_BENCH " search --json --searcher evolutionary --seeds 20 " FETTLE_RECORDINGS
                       "/kernels/matmul_256.jsonl.gz");
  ASSERT_EQ(found.status, 0);
  ASSERT_EQ(found.lines.size(), 2u);
  EXPECT_EQ(found.lines[0]["points"], 1416);
  EXPECT_LE(found.lines[0]["trials_to_98_median"].get<double>(), 141.6);
}

TEST(BenchProgram, EfficiencyGoesOnWhereItsDatabaseEnds) {
  setenv("FETTLE_AGENT", FETTLE_AGENT_PROGRAM, 1);
  const TemporaryFolder folder;
  const std::string command =
      FETTLE_BENCH
      " efficiency --network resnet-18 --layers 1 --searcher evolutionary random --seconds 0 "
      "--json --db " +
      folder.file("efficiency.db") + " --trials ";
  const Output first = run(command + "6 2>/dev/null");
  ASSERT_EQ(first.status, 0);
  ASSERT_EQ(first.lines.size(), 3u);
  EXPECT_EQ(first.lines.back()["complete"], true);
  const Output more = run(command + "9 2>/dev/null");
  ASSERT_EQ(more.status, 0);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(first.lines[i]["trials"], 6) << first.lines[i];
    EXPECT_EQ(more.lines[i]["trials"], 9) << more.lines[i];
    EXPECT_LE(more.lines[i]["best_ns"], first.lines[i]["best_ns"]) << "the first six are in it";
    EXPECT_LE(more.lines[i]["best_ns_of_all"], more.lines[i]["best_ns"]);
  }
  const Json& of = more.lines.back()["searchers"];
  ASSERT_TRUE(of.contains("evolutionary") && of.contains("random")) << of;
  EXPECT_EQ(of["random"]["least_trials"], 9);
  EXPECT_LE(of["random"]["trials_to_95"].get<double>(), 10);
}

TEST(BenchProgram, TheAgentsAreStaticAndSmall) {
  if (!std::filesystem::exists(FETTLE_AGENTS_FOLDER)) {
    GTEST_SKIP() << "no agents at " FETTLE_AGENTS_FOLDER ": ./dev agents builds them";
  }
  const Output output = run(FETTLE_BENCH " agent --starts 3 --json --agents " FETTLE_AGENTS_FOLDER);
  ASSERT_EQ(output.status, 0);
  ASSERT_GE(output.lines.size(), 2u);
  for (const Json& line : output.lines) EXPECT_EQ(line["static"], true) << line;
  const Json& summary = output.lines.back();
  EXPECT_LE(summary["size_bytes"].get<double>(), 4 << 20);
  EXPECT_LE(summary["rss_bytes"].get<double>(), 8 << 20);
  EXPECT_GT(summary["registered_ms"].get<double>(), 0);
}

TEST(BenchProgram, WrongUseIsRefused) {
  for (const char* words :
       {"", " prune", " pipeline --kernel-ms 0", " search --searcher psychic",
        " search --first-seed -1", " record-space", " search --nonsense", " versions --gate"}) {
    const int status = run(FETTLE_BENCH + std::string(words) + " 2>/dev/null").status;
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << words << ": " << status;
  }
  EXPECT_EQ(run(FETTLE_BENCH " prune 2>&1 | grep -q 'no command \"prune\".* pipeline,'").status, 0);
  EXPECT_NE(run(FETTLE_BENCH " kernels --db /no/such/file.db --json 2>/dev/null").status, 0);
  EXPECT_NE(run(FETTLE_BENCH " agent --agents /no/such/folder 2>/dev/null").status, 0);
}

}  // namespace
}  // namespace fettle::bench
