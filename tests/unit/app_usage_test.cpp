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
  expect_error(tun, 2, {"no command \"tun\" (did you mean tune?)", "tune, devices, ", "--help"});
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

TEST_F(CommandLine, ANetworkThatWasBuiltIsNotWrittenOver) {
  const std::string built = write("net.fettle", "FETTLNET and so on");
  expect_error(fettle({"zoo", "squeezenet-1.1", "-o", built}), 1, {"a network that fettle built"});
  EXPECT_EQ(contents_of(built), "FETTLNET and so on");
}

TEST_F(CommandLine, NoNumberIsNoNumber) {
  for (const char* word : {"nan", "inf", "-nan", "+nan", "1e999"}) {
    expect_error(fettle({"tune", "resnet-18", "--timeout", word}), 2, {"--timeout"});
    expect_error(fettle({"devices", "check", "--apart", word}), 2, {"--apart"});
  }
}

TEST_F(CommandLine, OneExtentHasOneNumber) {
  const std::string model = folder.file("net.onnx");
  ASSERT_EQ(fettle({"zoo", "squeezenet-1.1", "-o", model}).status, 0);
  expect_error(fettle({"tasks", model, "--extent", "n=1", "--extent", "n=2"}), 2,
               {"--extent", "n twice: 1 and 2"});
}

TEST_F(CommandLine, AMistakeInAWorkloadFileHasALine) {
  const std::string file = write("w.json", "[\n  {\"op\": \"dense\",\n  \"batch\" 1}\n]\n");
  expect_error(fettle({"tasks", file}), 1, {"line 3"});
  expect_error(fettle({"tasks", write("n.json", "[{\"op\": \"dense\", \"batch\": 1e999}]")}), 1,
               {"n.json", "too large"});
}

TEST_F(CommandLine, ADatabaseOrAModelIsNotWrittenOver) {
  const std::string model = folder.file("net.onnx"), database = folder.file("kept.db");
  ASSERT_EQ(fettle({"zoo", "squeezenet-1.1", "-o", model}).status, 0);
  ASSERT_EQ(fettle({"tune", small_dense(), "--device", "local", "--trials", "1", "--db", database,
                    "--quiet"})
                .status,
            0);
  const std::string before = contents_of(database), network = contents_of(model);
  expect_error(fettle({"zoo", "squeezenet-1.1", "-o", database}), 1, {"is a record database"});
  expect_error(fettle({"build", model, "-o", database}), 1, {"is a record database"});
  expect_error(fettle({"build", model, "-o", model}), 1, {"is an ONNX model"});
  expect_error(fettle({"records", "export", "--db", database, "-o", model}), 1,
               {"is an ONNX model"});
  expect_error(fettle({"records", "import", database, "--db", folder.file("other.db")}), 1,
               {"is a database", "records export"});
  EXPECT_TRUE(contents_of(database) == before);
  EXPECT_TRUE(contents_of(model) == network);
  EXPECT_EQ(fettle({"zoo", "squeezenet-1.1", "-o", model}).status, 0) << "a model by a model";
}

TEST_F(CommandLine, HelpIsACommandToo) {
  const auto option = fettle({"tune", "--help"}), word = fettle({"help", "tune"});
  EXPECT_EQ(word.status, 0);
  EXPECT_EQ(word.out, option.out);
  EXPECT_EQ(fettle({"help"}).out, fettle({"--help"}).out);
  EXPECT_EQ(fettle({"help", "records", "best"}).out, fettle({"records", "best", "--help"}).out);
  expect_error(fettle({"help", "tun"}), 2, {"no command \"tun\"", "did you mean tune?"});
  expect_error(fettle({"help", "records", "nonsense"}), 2, {"no command \"records nonsense\""});
}

// Compiling takes long.
TEST_F(CommandLine, WhereNoFileCanBeMadeIsToldBeforeANetworkIsRead) {
  expect_error(fettle({"build", write("none.onnx", ""), "-o", folder.file("none/x.fettle")}), 1,
               {"cannot write ", "none/x.fettle", "No such file or directory"});
  expect_error(fettle({"build", write("none.onnx", ""), "-o", write("file", "") + "/x.fettle"}), 1,
               {"cannot write ", "Not a directory"});
}

TEST_F(CommandLine, ABrokersKeyIsOfABroker) {
  const std::string key(40, 'a');
  expect_error(fettle({"devices", "--broker-key", key}), 2, {"--broker"});
  expect_error(fettle({"devices", "check", "--broker-key", key}), 2, {"--broker"});
}

TEST_F(CommandLine, WhereNobodyListensIsToldAtOnce) {
  for (const auto& words : {std::vector<std::string>{"devices"}, {"devices", "check"}}) {
    std::vector<std::string> command = words;
    command.insert(command.end(), {"--broker", "tcp://127.0.0.1:1", "--broker-key",
                                   "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"});
    expect_error(fettle(command), 1, {"no broker at tcp://127.0.0.1:1", "connection refused"});
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

TEST_F(CommandLine, AWrongAddressKeyOrTimeIsWrongUsage) {
  expect_error(fettle({"broker", "--listen", "127.0.0.1:29190"}), 2,
               {"--listen: takes tcp://ADDRESS:PORT, not \"127.0.0.1:29190\""});
  const std::string url = "tcp://127.0.0.1:9";
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"tune", "resnet-18"}, {"devices"}, {"build", "x.onnx"}, {"build-worker"}}) {
    std::vector<std::string> command = words;
    command.insert(command.end(), {"--broker", url, "--broker-key", "wrong"});
    expect_error(fettle(command), 2, {"--broker-key: a public key is 40 characters of Z85"});
  }
  expect_error(fettle({"devices", "reserve", "pynq", "--for", "2x"}), 2,
               {"--for: '2x' is no time: write 45m"});
  expect_error(
      fettle({"farm", "kubernetes", "--broker", url, "--image", "i", "--min", "5", "--max", "2"}),
      2, {"--min 5 is more than --max 2"});
  expect_error(fettle({"broker", "--listen", "tcp://127.0.0.1:*", "--web", "0.0.0.0:0"}), 2,
               {"--web: other machines reach 0.0.0.0", "--web-token-file"});
}

TEST_F(CommandLine, WhatIsNotTakenIsNamedWithWhatIs) {
  expect_error(
      fettle({"flash", "--image", FETTLE_PROGRAM, "--to", "/dev/null", "--force", "nosuch"}), 2,
      {"--force: no check is called \"nosuch\"; there are: boot-signature, "});
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"tune", "resnet-18"});
    return fettle(more);
  };
  expect_error(with({"--finalists", "1"}), 2, {"--finalists: takes 0, or 2 to 64, not 1;"});
  expect_error(with({"--finalists", "65"}), 2, {"--finalists: takes 0, or 2 to 64, not 65;"});
  expect_error(with({"--trail", "3"}), 2,
               {"fettle tune: no option \"--trail\" (did you mean --trials?);"});
  expect_error(with({"resnet-50"}), 2, {"fettle tune: one word too many: \"resnet-50\";"});
}

TEST_F(CommandLine, WhatIsOfAnotherCommandIsNamedWithIt) {
  expect_error(fettle({"run", "x.onnx"}), 1, {"x.onnx is an ONNX file; `fettle build` makes"});
  expect_error(fettle({"tune", "resnet-18", "--broker-key", std::string(40, '0')}), 2,
               {"--broker-key requires --broker"});
}

TEST_F(CommandLine, ExtentsAreGivenOneByOne) {
  expect_error(fettle({"tasks", "x.onnx", "--extent", "N=1,H=16,W=16"}), 2,
               {"--extent: takes one NAME=NUMBER, and may be given several times", "N=1,H=16"});
  expect_error(fettle({"tasks", "x.onnx", "--extent", "N"}), 2, {"'N' is not NAME=NUMBER"});
  for (const char* given : {"rate", "=1", "rate=", "rate=1,", "rate=1,,2", "rate=1;2", "rate=x"}) {
    expect_error(fettle({"tasks", "x.onnx", "--constant", given}), 2,
                 {std::string("'") + given + "' is not NAME=NUMBER[,NUMBER...]"});
  }
  expect_error(fettle({"tasks", "x.onnx", "--constant", "a=1", "--constant", "a=2"}), 2,
               {"gives a twice"});
  expect_error(fettle({"tasks", "resnet-18", "--constant", "a=1"}), 1,
               {"--constant is for ONNX files"});
}

TEST_F(CommandLine, ModelsAreWhatBuildAndExportTake) {
  for (const char* command : {"build", "export"}) {
    const auto help = fettle({command, "--help"}).out;
    EXPECT_NE(help.find("MODEL"), std::string::npos) << help;
    EXPECT_EQ(help.find("WORKLOADS"), std::string::npos) << help;
    EXPECT_EQ(help.find("mobilenet"), std::string::npos) << help;
  }
  expect_error(fettle({"build", "resnet-18"}), 1, {"no ONNX file", "`fettle zoo` writes some"});
}

TEST_F(CommandLine, AFileThatCannotBeWrittenHasACause) {
  const std::string trial = write("t.jsonl", "");
  ASSERT_EQ(fettle({"records", "import", "--db", folder.file("t.db"), trial}).status, 0);
  expect_error(
      fettle({"records", "export", "--db", folder.file("t.db"), "-o", folder.file("none/q.jsonl")}),
      1, {"cannot write ", "No such file or directory"});
}

// Build workers are asked where they are of this very build.
TEST_F(CommandLine, TheVersionTellsWhatBuilds) {
  const auto told = fettle({"--version"});
  EXPECT_EQ(told.status, 0) << told.err;
  EXPECT_TRUE(told.out.starts_with("fettle ")) << told.out;
  EXPECT_NE(told.out.find("\nLLVM 19."), std::string::npos) << told.out;
  const std::string version = told.out.substr(7, told.out.find('\n') - 7);
  EXPECT_NE(told.out.find("\nbuild " + version + "-"), std::string::npos) << told.out;
}

}  // namespace
}  // namespace fettle::testing
