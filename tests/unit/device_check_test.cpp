// What `fettle devices check` makes of times: verdicts and the file of the last checks.
#include <gtest/gtest.h>

#include <fstream>

#include "host/app/check_history.h"
#include "host/app/check_verdict.h"
#include "tests/support/running_program.h"

namespace fettle::app {
namespace {

CheckedDevice device(const std::string& board, double ns, std::vector<double> before = {}) {
  CheckedDevice out;
  out.board_id = out.name = board;
  out.key = "pynq";
  out.kernel_id = "k";
  out.ticks = ns;
  out.time_of_a_board = true;
  out.before = std::move(before);
  return out;
}

TEST(CheckVerdict, ComparesWithThreeSiblingsOrMore) {
  std::vector<CheckedDevice> boards = {device("a", 1000), device("b", 1010), device("c", 990)};
  boards[2].ticks = 2000;
  judge(boards, 0.25);
  for (const auto& board : boards) EXPECT_EQ(board.verdict, "ok") << "two siblings say nothing";
  boards.push_back(device("d", 1000));
  judge(boards, 0.25);
  EXPECT_EQ(boards[2].verdict, "100 % slower than its siblings");
  EXPECT_TRUE(boards[2].bad);
  for (const int good : {0, 1, 3}) EXPECT_FALSE(boards[good].bad) << boards[good].verdict;
  judge(boards, 1.5);
  EXPECT_FALSE(boards[2].bad) << "as much is allowed";
  boards[2].kernel_id = "another";
  judge(boards, 0.25);
  EXPECT_FALSE(boards[2].bad) << "nothing to compare with";
}

TEST(CheckVerdict, ComparesWithItsOwnLastChecks) {
  std::vector<CheckedDevice> boards = {device("a", 1400, {1000, 1010, 990}),
                                       device("b", 1400, {1000, 1000}),
                                       device("c", 600, {1000, 1000, 1000})};
  boards[1].key = boards[2].key = "other";
  judge(boards, 0.25);
  EXPECT_EQ(boards[0].verdict, "40 % slower than in its last checks");
  EXPECT_TRUE(boards[0].bad);
  EXPECT_FALSE(boards[1].bad) << "two say nothing";
  EXPECT_FALSE(boards[2].bad) << "faster than before is no fault";
  // What lasts is the norm after a while.
  boards[0].before = {1000, 1000, 1000, 1400, 1400, 1400, 1400};
  judge(boards, 0.25);
  EXPECT_FALSE(boards[0].bad) << boards[0].verdict;
}

TEST(CheckVerdict, FailuresAreBadWhatWasNotRunIsNot) {
  std::vector<CheckedDevice> boards = {device("a", 1000), device("b", 1), device("c", 1),
                                       device("d", 1), device("e", 1)};
  boards[0].failure = "WrongAnswer";
  boards[1].skipped = "not checked: reserved for alice";
  for (auto& board : boards) board.time_of_a_board = false;  // emulated: nothing is compared
  judge(boards, 0.25);
  EXPECT_TRUE(boards[0].bad);
  EXPECT_EQ(boards[0].verdict, "WrongAnswer");
  EXPECT_FALSE(boards[1].bad);
  EXPECT_EQ(boards[1].verdict, "not checked: reserved for alice");
  EXPECT_EQ(boards[2].verdict, "ok");
  EXPECT_FALSE(boards[2].siblings);
}

TEST(CheckHistory, KeepsTheLastOfEach) {
  const testing::ScratchFolder folder;
  const std::string file = folder.path() + "/checks.jsonl";
  auto none = CheckHistory::read(file);
  ASSERT_TRUE(none.ok());
  for (int i = 0; i < 40; ++i) none->add({1000 + i, "board-1", 0, "k", 100.0 + i});
  none->add({1, "board-1", 1, "k", 7});
  none->add({1, "board-2 \"quoted\"", 0, "k", 8});
  ASSERT_TRUE(none->write(file).ok());
  const auto again = CheckHistory::read(file);
  ASSERT_TRUE(again.ok());
  const auto times = again->times("board-1", 0, "k");
  ASSERT_EQ(times.size(), CheckHistory::kKept);
  EXPECT_EQ(times.front(), 110);
  EXPECT_EQ(times.back(), 139);
  EXPECT_EQ(again->times("board-1", 1, "k"), std::vector<double>{7});
  EXPECT_EQ(again->times("board-2 \"quoted\"", 0, "k"), std::vector<double>{8});
  EXPECT_TRUE(again->times("board-1", 0, "other").empty());
  EXPECT_EQ(again->bad_lines(), 0u);
}

TEST(CheckHistory, LinesThatAreNoneAreLeftOut) {
  const testing::ScratchFolder folder;
  const std::string file = folder.path() + "/checks.jsonl";
  std::ofstream(file) << "nonsense\n[1,2]\n{\"board\":\"b\",\"kernel\":\"k\",\"ns\":-1}\n"
                      << R"({"board":7,"kernel":"k","ns":1,"device":0,"unix_s":1})"
                      << "\n"
                      << R"({"board":"b","kernel":"k","ns":1e999,"device":0,"unix_s":1})"
                      << "\n"
                      << R"({"board":"b","kernel":"k","ns":5,"device":0,"unix_s":1})"
                      << "\n"
                      << R"({"board":"b","kernel":"k","ns":6,"dev)";
  const auto read = CheckHistory::read(file);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->bad_lines(), 6u);
  EXPECT_EQ(read->times("b", 0, "k"), std::vector<double>{5});
}

TEST(CheckHistory, MayLieInTheFolderThatOneIsIn) {
  const testing::ScratchFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  auto history = CheckHistory::read("checks.jsonl");
  ASSERT_TRUE(history.ok());
  history->add({1, "board-1", 0, "k", 7});
  const auto written = history->write("checks.jsonl");
  std::filesystem::current_path(before);
  ASSERT_TRUE(written.ok()) << written.error().text();
  EXPECT_EQ(CheckHistory::read(folder.path() + "/checks.jsonl")->times("board-1", 0, "k"),
            std::vector<double>{7});
}

}  // namespace
}  // namespace fettle::app
