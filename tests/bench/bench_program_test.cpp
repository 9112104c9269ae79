// fettle-bench itself, briefly: that it runs, what its last line holds, and the
// agents' limits that do not depend on how busy this machine is.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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
  EXPECT_NE(run(FETTLE_BENCH " 2>/dev/null").status, 0);
  EXPECT_NE(run(FETTLE_BENCH " pipeline --kernel-ms 0 2>/dev/null").status, 0);
  EXPECT_NE(run(FETTLE_BENCH " kernels --db /no/such/file.db --json 2>/dev/null").status, 0);
  EXPECT_NE(run(FETTLE_BENCH " agent --agents /no/such/folder 2>/dev/null").status, 0);
}

}  // namespace
}  // namespace fettle::bench
