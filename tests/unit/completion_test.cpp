// What `fettle completion bash` writes, sourced by a bash.
#include <sstream>

#include "tests/unit/command_line.h"

namespace fettle::testing {
namespace {

class Completion : public CommandLine {
 protected:
  // What bash would offer behind `words`; the last one is being typed, "" where none is begun.
  std::vector<std::string> offered(const std::vector<std::string>& words) {
    const std::string script = folder.file("completion");
    if (!std::ifstream(script)) write("completion", fettle({"completion", "bash"}).out);
    const std::string program =
        "cd \"$2\"; source \"$1\"; shift 2; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1))\n"
        "_fettle 2>/dev/null; printf '%s\\n' \"${COMPREPLY[@]}\"";
    std::vector<std::string> command{"/bin/bash", "-c",          program, "bash",
                                     script,      folder.path(), "fettle"};
    command.insert(command.end(), words.begin(), words.end());
    const auto result = run_program(command, std::chrono::seconds(20), {});
    EXPECT_EQ(result.err, "");
    std::istringstream lines(result.out);
    std::vector<std::string> all;
    for (std::string line; std::getline(lines, line);) all.push_back(line);
    return all;
  }
  using Words = std::vector<std::string>;
};

bool holds(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST_F(Completion, CommandsAndThoseBelowThem) {
  EXPECT_EQ(offered({"tu"}), Words{"tune"});
  EXPECT_TRUE(holds(offered({""}), "build-worker"));
  EXPECT_EQ(offered({"records", "pl"}), Words{"plot"});
  EXPECT_TRUE(holds(offered({"keys", ""}), "allow"));
  EXPECT_FALSE(holds(offered({"keys", ""}), "tune"));
}

TEST_F(Completion, OptionsOfTheCommandThatIsTyped) {
  EXPECT_EQ(offered({"tune", "--early"}), Words{"--early-stopping"});
  EXPECT_TRUE(holds(offered({"tune", "--no-"}), "--no-prior"));
  EXPECT_FALSE(holds(offered({"zoo", "--"}), "--early-stopping"));
  EXPECT_EQ(offered({"zoo", "mobilenet-v2", "--int"}), Words{"--int8"});
}

TEST_F(Completion, TheChoicesOfAnOption) {
  EXPECT_EQ(offered({"tune", "--searcher", "xgb"}), (Words{"xgb-knob", "xgb-itervar"}));
  EXPECT_EQ(offered({"tune", "--weights", "=", "w"}), Words{"warm"});
  EXPECT_EQ(offered({"tune", "--weights", "="}), (Words{"auto", "cold", "warm"}));
}

TEST_F(Completion, NetworksAndFilesAlsoThoseWithBlanks) {
  write("my net.onnx", "");
  EXPECT_FALSE(holds(offered({""}), "my net.onnx"));
  EXPECT_EQ(offered({"tune", "my"}), Words{"my net.onnx"});
  EXPECT_EQ(offered({"zoo", "squeeze"}), Words{"squeezenet-1.1"});
  EXPECT_TRUE(holds(offered({"tune", "resnet"}), "resnet-18"));
  EXPECT_EQ(offered({"tune", "x.json", "--db", "my"}), Words{"my net.onnx"});
}

}  // namespace
}  // namespace fettle::testing
