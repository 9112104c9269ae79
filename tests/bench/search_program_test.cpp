// fettle-bench where it searches and learns: databases that it goes on with, priors that it judges.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "host/records/database.h"
#include "host/records/export.h"
#include "host/records/queries.h"
#include "tests/bench/program_output.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

// What sessions of that name tried, in its order.
std::vector<std::string> tried_by(const std::string& db, const std::string& name) {
  auto database = records::Database::open(db);
  std::map<std::int64_t, std::string> tried;  // by the records' numbers
  const std::vector<records::Session> sessions = database->sessions().value();
  for (const records::Session& session : sessions) {
    if (session.name != name) continue;
    records::Filter filter;
    filter.session = session.session;
    const auto trials = records::history(*database, filter).value();
    for (const auto& trial : trials) tried.emplace(trial.id, trial.configuration);
  }
  std::vector<std::string> configurations;
  for (const auto& [id, configuration] : tried) configurations.push_back(configuration);
  return configurations;
}

TEST(BenchProgram, EfficiencyGoesOnWhereItsDatabaseEnds) {
  setenv("FETTLE_AGENT", FETTLE_AGENT_PROGRAM, 1);
  const TemporaryFolder folder;
  const std::string command =
      FETTLE_BENCH " efficiency --network " FETTLE_HELD_BACK
                   " --layers 1 --searcher evolutionary random --seconds 0 --json --db " +
      folder.file("efficiency.db");
  const Output first = run(command + " --trials 6 2>/dev/null");
  ASSERT_EQ(first.status, 0);
  ASSERT_EQ(first.lines.size(), 3u);
  EXPECT_EQ(first.lines.back()["complete"], true);
  const std::string db = folder.file("efficiency.db"), name = "efficiency evolutionary seed 1";
  const std::vector<std::string> first_six = tried_by(db, name);
  ASSERT_EQ(first_six.size(), 6u);
  const Output more = run(command + " --trials 9 random=7 --seeds 2 2>/dev/null");
  ASSERT_EQ(more.status, 0);
  ASSERT_EQ(more.lines.size(), 5u);
  const std::vector<std::string> nine = tried_by(db, name);
  ASSERT_EQ(nine.size(), 9u);
  EXPECT_TRUE(std::equal(first_six.begin(), first_six.end(), nine.begin()))
      << "the first six are in it";
  const Json& summary = more.lines.back();
  EXPECT_EQ(summary["complete"], true);
  EXPECT_EQ(summary["runs"], 4);
  // The bar was measured by itself, and is of the fastest programs.
  EXPECT_EQ(summary["layers_confirmed"], 1);
  EXPECT_GE(summary["programs_confirmed"], 2);
  const double best = more.lines.front()["best_ns_of_all"];
  double found = 1e99;
  for (std::size_t i = 0; i < 4; ++i) found = std::min<double>(found, more.lines[i]["best_ns"]);
  EXPECT_GT(best, found / 2);
  EXPECT_LT(best, found * 2);
  std::map<std::string, double> sums;
  for (std::size_t i = 0; i < 4; ++i) {
    const Json& line = more.lines[i];
    const std::string searcher = line["searcher"];
    EXPECT_EQ(line["seed"], 1 + i / 2) << line;
    EXPECT_EQ(line["trials"], searcher == "random" ? 7 : 9) << line;
    EXPECT_EQ(line["best_ns_of_all"], best);
    // Where it came so near at all, and one more than the most where it did not.
    const bool near = best / line["best_ns"].get<double>() >= 0.95;
    EXPECT_EQ(line["trials_to_95"].is_number(), near) << line;
    sums[searcher] += near ? line["trials_to_95"].get<double>() : 10.0;
  }
  for (const auto& [name, sum] : sums) {
    EXPECT_DOUBLE_EQ(summary["searchers"][name]["trials_to_95"], sum / 2) << name;
  }
}

// Sessions of before the kinds of xgb had names.
TEST(BenchProgram, EfficiencyGoesOnWithSessionsNamedXgb) {
  setenv("FETTLE_AGENT", FETTLE_AGENT_PROGRAM, 1);
  const TemporaryFolder folder;
  const std::string command = FETTLE_BENCH " efficiency --network " FETTLE_HELD_BACK
                                           " --layers 1 --seconds 0 --json --trials 4";
  ASSERT_EQ(run(command + " --searcher xgb --db " + folder.file("new.db") + " 2>/dev/null").status,
            0);
  std::stringstream lines;
  ASSERT_TRUE(records::export_lines(*records::Database::open(folder.file("new.db")), {}, lines));
  std::string text = lines.str();
  const std::string name = "efficiency xgb-knob seed 1";
  ASSERT_NE(text.find(name), std::string::npos);
  text.replace(text.find(name), name.size(), "efficiency xgb seed 1");
  std::istringstream old(text);
  const std::string db = folder.file("old.db");
  ASSERT_TRUE(records::import_lines(db, old, "old"));
  const Output again = run(command + " --searcher xgb-knob --db " + db + " 2>/dev/null");
  ASSERT_EQ(again.status, 0);
  EXPECT_EQ(again.lines.front()["trials"], 4);
  EXPECT_EQ(records::Database::open(db)->sessions()->size(),
            records::Database::open(folder.file("new.db"))->sessions()->size())
      << "nothing was left to try, and the bests were measured already";
}

TEST(BenchProgram, APriorIsJudgedByRecords) {
  setenv("FETTLE_AGENT", FETTLE_AGENT_PROGRAM, 1);
  const TemporaryFolder folder;
  const std::string db = folder.file("random.db");
  ASSERT_EQ(run(FETTLE_BENCH " efficiency --network " FETTLE_HELD_BACK
                             " --layers 1 --seconds 0 --json --trials 8 --searcher random --db " +
                db + " 2>/dev/null")
                .status,
            0);
  const std::string command = FETTLE_BENCH " prior --json --db " + db +
                              " --recording " FETTLE_RECORDINGS
                              "/conv2d_7x7x512.jsonl.gz"
                              " --judge " FETTLE_PRIORS "/x86_64_avx512.prior";
  const Output judged = run(command);
  ASSERT_EQ(judged.status, 0);
  ASSERT_EQ(judged.lines.size(), 4u) << "the task, the recorded space, and a mean of each";
  EXPECT_GE(judged.lines[0]["programs"], 8);  // the best are measured again
  EXPECT_EQ(judged.lines[1]["task"], "mean of 1 tasks by the prior");
  EXPECT_EQ(judged.lines[1]["prior"], judged.lines[0]["prior"]);
  EXPECT_GT(judged.lines[2]["programs"], 100);
  // Of these the prior has seen none, and knows more than the estimate.
  const auto rank = [&](const char* by) {
    return judged.lines[3][by]["rank_correlation"].get<double>();
  };
  EXPECT_GT(rank("prior"), rank("estimate"));
  EXPECT_LT(rank("prior"), 1);
  EXPECT_NE(run(command + " -o " + folder.file("x.prior") + " 2>/dev/null").status, 0);
  EXPECT_FALSE(std::filesystem::exists(folder.file("x.prior")));
}

}  // namespace
}  // namespace fettle::bench
