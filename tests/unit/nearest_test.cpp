// "Did you mean" (host/app/nearest.h).
#include "host/app/nearest.h"

#include <gtest/gtest.h>

namespace fettle::app {
namespace {

const std::vector<std::string> kCommands{"tune", "tasks", "build", "run", "records", "devices"};

TEST(Nearest, FindsWhatWasMeant) {
  EXPECT_EQ(nearest("tun", kCommands), "tune");
  EXPECT_EQ(nearest("biuld", kCommands), "build") << "two exchanged letters are one mistake";
  EXPECT_EQ(nearest("record", kCommands), "records");
  EXPECT_EQ(nearest("--trails", {"--trials", "--timeout"}), "--trials");
}

TEST(Nearest, GuessesNothingElse) {
  EXPECT_EQ(nearest("zzz", kCommands), "");
  EXPECT_EQ(nearest("", kCommands), "");
  EXPECT_EQ(nearest("devcsie", kCommands), "") << "three mistakes";
  EXPECT_EQ(nearest("ab", {"xy", "b", "a"}), "") << "half of so short a word is a guess";
  EXPECT_EQ(nearest("tast", {"test", "toast"}), "") << "two are as near";
  EXPECT_EQ(nearest("tast", {"toast", "taste"}), "taste") << "which it begins";
}

TEST(Nearest, TheNearestOfSeveral) {
  EXPECT_EQ(nearest("runn", {"ruin", "run", "rune"}), "") << "run and rune are as near";
  EXPECT_EQ(nearest("record", {"recover", "records"}), "records");
}

}  // namespace
}  // namespace fettle::app
