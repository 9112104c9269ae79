// fettle-bench itself, briefly: that it runs, what its last line holds, and the
// agents' limits that do not depend on how busy this machine is.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "host/records/database.h"
#include "host/records/export.h"
#include "host/records/queries.h"
#include "host/replay/recording.h"
#include "tests/bench/program_output.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();  // of a figure that is not told

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  if (values.empty()) return kNone;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Spearman's, of values without ties: 1 - 6 * sum d^2 / (n (n^2 - 1)).
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto rank = [](const std::vector<double>& all, double value) {
    return static_cast<double>(
        std::count_if(all.begin(), all.end(), [&](double other) { return other < value; }));
  };
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    squares += std::pow(rank(a, a[i]) - rank(b, b[i]), 2);
  }
  const auto n = static_cast<double>(a.size());
  return 1 - 6 * squares / (n * (n * n - 1));
}

TEST(BenchProgram, PipelineEndsInASummary) {
  setenv("FETTLE_AGENT", FETTLE_AGENT_PROGRAM, 1);
  const Output output = run(FETTLE_BENCH " pipeline --kernel-ms 1 --trials 10 --json --gate");
  ASSERT_EQ(output.lines.size(), 11u) << "ten trials and the summary";
  const Json& summary = output.lines.back();
  EXPECT_EQ(summary.value("summary", false), true);
  EXPECT_EQ(summary["trials"].get<std::size_t>() + 1, output.lines.size()) << "a line per trial";
  // What the trials' lines say, added up here once more.
  double total = 0, gap = 0, supply = 0, running = 0, sampled = 0;
  std::vector<double> kernels, overheads;
  for (std::size_t i = 0; i + 1 < output.lines.size(); ++i) {
    const Json& line = output.lines[i];
    const auto of = [&](const char* name) { return line.value(name, kNone); };
    EXPECT_GT(of("total_ms"), of("running_ms")) << line;
    EXPECT_GE(of("running_ms"), of("sampled_ms")) << line;
    EXPECT_GE(of("gap_ms"), of("supply_ms")) << line;
    EXPECT_NEAR(of("overhead_ms"),
                of("total_ms") - of("running_ms") + of("gap_ms") - of("supply_ms"), 1e-6);
    total += of("total_ms"), gap += of("gap_ms"), supply += of("supply_ms");
    running += of("running_ms"), sampled += of("sampled_ms");
    if (line.contains("failure")) continue;
    EXPECT_GT(of("kernel_ms"), 0) << line;
    EXPECT_GE(of("sampled_ms"), of("kernel_ms")) << "at least one run: " << line;
    kernels.push_back(of("kernel_ms"));
    overheads.push_back(of("overhead_ms"));
  }
  for (const auto& [name, share] : {std::pair{"busy_share", total / (total + gap - supply)},
                                    std::pair{"busy_share_overall", total / (total + gap)},
                                    std::pair{"supply_limited_share", supply / (total + gap)},
                                    std::pair{"running_share", running / (total + gap)},
                                    std::pair{"sampled_share", sampled / (total + gap)}}) {
    EXPECT_NEAR(summary.value(name, kNone), share, 1e-9) << name;
  }
  EXPECT_EQ(output.status == 0, running / (total + gap) >= 0.90) << "the gate";
  EXPECT_NEAR(summary.value("kernel_ms_median", kNone), median(kernels), 1e-9);
  EXPECT_NEAR(summary.value("overhead_ms_median", kNone), median(overheads), 1e-9);
  EXPECT_NEAR(summary.value("trials_per_hour", kNone),
              double(output.lines.size() - 1) / summary.value("wall_s", kNone) * 3600, 1e-3);
}

// How far medians drift is the machine's matter; that both sessions measured the same
// configurations, and are in the database, is ours.
TEST(BenchProgram, NeighboursLooksAtTheCoreThatItIsTold) {
  const Output usual = run(FETTLE_BENCH " neighbours --json --seconds 0.1");
  ASSERT_EQ(usual.lines.size(), 1u);
  const Json core = usual.lines.front()["core"];  // one of this process's
  const Output seen = run(FETTLE_BENCH " neighbours --json --seconds 0.3 --core " + core.dump());
  ASSERT_EQ(seen.status, 0);
  ASSERT_EQ(seen.lines.size(), 1u);
  const Json& told = seen.lines.front();
  EXPECT_EQ(told["core"], core);
  EXPECT_GT(told["looks"], 1);
  EXPECT_LT(told["looks"], 300) << "a look a millisecond";
  EXPECT_GT(told["alone_gauge"], 0.0);
  EXPECT_LE(told["crowded_share"], 1.0);
  EXPECT_GE(told["slowdown"], 1.0);
  const Output none = run(FETTLE_BENCH " neighbours --core 1000000 2>/dev/null");
  EXPECT_EQ(WEXITSTATUS(none.status), 1);
}

TEST(BenchProgram, RepeatMeasuresTheSameConfigurationsTwice) {
  setenv("FETTLE_AGENT", FETTLE_AGENT_PROGRAM, 1);
  const TemporaryFolder folder;
  const std::string db = folder.file("repeat.db");
  const Output drawn =
      run(FETTLE_BENCH " repeat --layers '7x7x512→512' --count 10 --rounds 2 --json --db " + db);
  ASSERT_EQ(drawn.status, 0);
  ASSERT_EQ(drawn.lines.size(), 11u);
  const Json& summary = drawn.lines.back();
  EXPECT_EQ(summary["configurations"], 10);
  EXPECT_EQ(summary["rounds"], 2);
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> layers;
  std::vector<double> drifts;
  for (std::size_t i = 0; i + 1 < drawn.lines.size(); ++i) {
    const Json& line = drawn.lines[i];
    auto& [first, second] = layers[line["task"].get<std::string>()];
    first.push_back(line["ns"][0]);
    second.push_back(line["ns"][1]);
    drifts.push_back(std::fabs(second.back() / first.back() - 1));
  }
  ASSERT_EQ(layers.size(), 2u);
  std::vector<double> ranks;
  for (const auto& [layer, times] : layers) {
    ASSERT_EQ(times.first.size(), 5u) << layer;
    ranks.push_back(rank_correlation(times.first, times.second));
  }
  EXPECT_NEAR(summary["rank_correlation"].get<double>(), (ranks[0] + ranks[1]) / 2, 1e-9);
  EXPECT_NEAR(summary["least_rank_correlation_in_a_task"].get<double>(),
              std::min(ranks[0], ranks[1]), 1e-9);
  EXPECT_NEAR(summary["median_drift"].get<double>(), median(drifts), 1e-12);
  EXPECT_NEAR(summary["largest_drift"].get<double>(),
              *std::max_element(drifts.begin(), drifts.end()), 1e-12);
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
  ASSERT_TRUE(again.lines.back().contains("rank_correlation"));
  EXPECT_TRUE(again.lines.back()["rank_correlation"].is_null()) << "too few of a layer";
}

// Also for another architecture than this machine's.
TEST(BenchProgram, CandidatesAreLoweredAndBuilt) {
  const Output output = run(
      FETTLE_BENCH
      " candidates --arch armv7 --candidates 1 --lowered 2 --json --network " FETTLE_THREE_LAYERS);
  ASSERT_EQ(output.status, 0);
  ASSERT_EQ(output.lines.size(), 4u);
  for (std::size_t i = 0; i < 3; ++i) {
    const Json& line = output.lines[i];
    EXPECT_EQ(line["built"], 1) << line;
    EXPECT_EQ(line["lowered"], 2) << line;
    EXPECT_GT(line["build_ms_mean"], 0.0) << line;
    EXPECT_GT(line["features_ms_mean"], 0.0) << line;
  }
  const Json& summary = output.lines.back();
  EXPECT_EQ(summary["summary"], true);
  EXPECT_EQ(summary["arch"], "armv7");
  EXPECT_EQ(summary["built"], 3);
  EXPECT_EQ(summary["lowered"], 6);
}

TEST(BenchProgram, ADatabaseThatIsReadIsNamedAndNotMade) {
  const TemporaryFolder folder;
  const std::string none = folder.file("none.db");
  EXPECT_NE(
      run(FETTLE_BENCH " repeat --json --db " + folder.file("r.db") + " --from " + none).status, 0);
  EXPECT_NE(run(FETTLE_BENCH " prior --json --db " + none).status, 0);
  EXPECT_NE(run(FETTLE_BENCH " model --json --db " + none).status, 0);
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

// So that searches on them see what searches on boards see.
TEST(BenchProgram, RecordedSpacesHaveTheFeaturesOfToday) {
  const std::string kept = FETTLE_RECORDINGS "/depthwise_56x56x128.jsonl.gz";
  const TemporaryFolder folder;
  const std::string renewed = folder.file("renewed.gz");
  std::filesystem::copy_file(kept, renewed);
  EXPECT_EQ(run(FETTLE_BENCH " renew-features " + renewed).status, 0);
  const auto then = replay::read_recording(kept), now = replay::read_recording(renewed);
  ASSERT_TRUE(then && now);
  EXPECT_EQ(then->feature_names, now->feature_names) << "fettle-bench renew-features, on all";
  ASSERT_EQ(then->trials.size(), now->trials.size());
  for (std::size_t i = 0; i < then->trials.size(); ++i) {
    const auto &a = then->trials[i], &b = now->trials[i];
    ASSERT_EQ(a.nanoseconds, b.nanoseconds);
    ASSERT_EQ(a.features.size(), b.features.size());
    for (std::size_t f = 0; f < a.features.size(); ++f) {
      ASSERT_NEAR(a.features[f], b.features[f], 1e-4) << now->feature_names[f] << ", trial " << i;
    }
  }
  EXPECT_FALSE(std::filesystem::exists(renewed + ".new"));
  EXPECT_NE(run(FETTLE_BENCH " renew-features /no/such/file.gz 2>/dev/null").status, 0);
  EXPECT_NE(run(FETTLE_BENCH " renew-features " FETTLE_RECORDINGS
                             "/kernels/matmul_256.jsonl.gz 2>/dev/null")
                .status,
            0)
      << "kernels that users write have no features";
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
  for (const char* words : {"", " prune", " pipeline --kernel-ms 0", " search --searcher psychic",
                            " search --first-seed -1", " efficiency --trials xbg=3",
                            " record-space", " search --nonsense", " versions --gate",
                            " fleet --rate 100 --answer-ms 5", " fleet --in-flight 100001"}) {
    const int status = run(FETTLE_BENCH + std::string(words) + " 2>/dev/null").status;
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << words << ": " << status;
  }
  EXPECT_EQ(run(FETTLE_BENCH " prune 2>&1 | grep -q 'no command \"prune\".* pipeline,'").status, 0);
  EXPECT_NE(run(FETTLE_BENCH " kernels --db /no/such/file.db --json 2>/dev/null").status, 0);
  EXPECT_NE(run(FETTLE_BENCH " agent --agents /no/such/folder 2>/dev/null").status, 0);
}

}  // namespace
}  // namespace fettle::bench
