// A wrong command line is status 2 and one line that names what is wrong with it.
#include "tests/unit/command_line.h"

namespace fettle::testing {
namespace {

TEST_F(CommandLine, AValueThatAnOptionDoesNotKnowIsWrongUsage) {
  expect_error(fettle({"explain"}), 2, {"RECORD", "--workload"});
  const std::string dense = R"({"op":"dense","in_features":64,"out_features":64})";
  expect_error(fettle({"explain", "--workload", dense}), 2, {"--profile", "--target"});
  expect_error(fettle({"explain", "--workload", dense, "--profile", "vax"}), 2,
               {"--profile: vax", "pynq-z1"});
  expect_error(fettle({"broker", "--listen", "tcp://127.0.0.1:*", "--power-cycle", "pynq"}), 2,
               {"NAME=COMMAND", "'pynq'"});
}

TEST_F(CommandLine, ExplainTakesNothingThatItWouldNotLookAt) {
  const std::string dense = R"({"op":"dense","in_features":64,"out_features":64})";
  const std::vector<std::string> random{"explain", "--workload", dense, "--profile", "pynq-z1"};
  for (const auto& more :
       std::vector<std::vector<std::string>>{{"--db", "x.db"},
                                             {"--seed", "1", "--space"},
                                             {"--configuration", "{}", "--space"},
                                             {"--configuration", "{}", "--seed", "1"}}) {
    std::vector<std::string> words = random;
    words.insert(words.end(), more.begin(), more.end());
    expect_error(fettle(words), 2, {more[0]});
  }
  expect_error(fettle({"explain", "1", "--seed", "1"}), 2, {"--seed", "RECORD"});
}

TEST_F(CommandLine, AnUnknownCommandIsNamedWithThoseThereAre) {
  const auto tun = fettle({"tun", "resnet-18"});
  expect_error(tun, 2, {"no command \"tun\"", "tune, devices, ", "--help"});
  EXPECT_NE(tun.err.find("build-worker"), std::string::npos) << tun.err;
  expect_error(fettle({"records", "list", "--db", "x.db"}), 2,
               {"no command \"records list\"", "best, show, "});
  expect_error(fettle({"keys", "add"}), 2, {"no command \"keys add\"", "new, list, "});
  expect_error(fettle({"records"}), 2, {"a command is missing", "best, show, "});
  expect_error(fettle({}), 2, {"a command is missing", "tune, devices, "});
  expect_error(fettle({"--db"}), 2, {"no option \"--db\"", "tune, devices, "});
}

TEST_F(CommandLine, AnOutputFileHasAName) {
  for (const char* command : {"plot", "export", "distill"}) {
    expect_error(fettle({"records", command, "-o", ""}), 2, {"--output: wants a file's name"});
  }
}

TEST_F(CommandLine, NumbersAreDecimalAndFit) {
  const std::vector<std::string> replay{"tune", "--replay",
                                        FETTLE_RECORDINGS "/conv2d_7x7x512.jsonl.gz"};
  const auto with = [&](const std::string& option, const std::string& value) {
    std::vector<std::string> words = replay;
    words.insert(words.end(), {option, value, "--json"});
    return fettle(words);
  };
  expect_error(with("--seed", "-1"), 2, {"--seed: ", "not negative", "\"-1\""});
  expect_error(with("--seed", "99999999999999999999999"), 2, {"--seed: ", "out of range"});
  expect_error(with("--trials", "0x10"), 2, {"--trials: ", "whole number", "0x10"});
  expect_error(with("--trials", "1e3"), 2, {"--trials: ", "1e3"});
  const auto ten = with("--trials", "010");
  EXPECT_EQ(ten.status, 0) << ten.err;
  EXPECT_NE(ten.out.find("\"trials\":10,\"trials_per_hour\""), std::string::npos) << ten.out;
  EXPECT_EQ(with("--trials", "8").status, 0);
}

TEST_F(CommandLine, ARecordsNumberIsAWholeNumberFromOne) {
  for (const auto& words : {std::vector<std::string>{"records", "show"}, {"explain"}}) {
    for (const char* number : {"0", "abc", "1.5", "99999999999999999999"}) {
      std::vector<std::string> command = words;
      command.push_back(number);
      const auto done = fettle(command);
      expect_error(done, 2, {"RECORD: ", number});
      EXPECT_LT(done.err.size(), 200u) << done.err;
    }
  }
}

}  // namespace
}  // namespace fettle::testing
