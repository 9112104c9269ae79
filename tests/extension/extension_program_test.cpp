// The stack machine through everything: `fettle tune` with build workers, a broker and an agent
// that has the device; records, resume, explain.
#include <gtest/gtest.h>

#include <fstream>

#include "host/records/queries.h"
#include "tests/support/running_program.h"

namespace fettle::extension {
namespace {

using testing::ProgramResult;

class ExtensionProgram : public ::testing::Test {
 protected:
  ExtensionProgram() {
    std::ofstream(folder.file("tasks.json"))
        << R"([{"op":"dense","in_features":16,"out_features":8,"tail":["bias","relu"]},
               {"op":"softmax","batch":4,"features":12}])";
  }
  ProgramResult fettle(std::vector<std::string> words) const {
    words.insert(words.begin(), FETTLE_PROGRAM);
    return testing::run_program(
        words, std::chrono::seconds(200),
        {{"FETTLE_HOME", folder.file("home")}, {"FETTLE_AGENT", FETTLE_AGENT_PROGRAM}});
  }
  ProgramResult tune(std::vector<std::string> more) const {
    std::vector<std::string> words = {"tune",
                                      folder.file("tasks.json"),
                                      "--device",
                                      "local-stack",
                                      "--db",
                                      folder.file("r.db"),
                                      "--repeat",
                                      "3",
                                      "--min-repeat-ms",
                                      "1"};
    words.insert(words.end(), more.begin(), more.end());
    return fettle(words);
  }
  std::vector<records::TuningRecord> records() const {
    auto database =
        records::Database::open(folder.file("r.db"), {.read_only = true, .create = false});
    if (!database) return {};
    return records::history(*database, {}).value();
  }

  testing::ScratchFolder folder;
};

TEST_F(ExtensionProgram, IsTunedRecordedResumedAndExplained) {
  const ProgramResult first = tune({"--trials", "12", "--seed", "1"});
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_NE(first.err.find("calibrating local-stack"), std::string::npos) << first.err;
  auto all = records();
  ASSERT_EQ(all.size(), 12u);
  for (const auto& record : all) {
    EXPECT_TRUE(record.measurement()) << record.configuration;
    EXPECT_EQ(record.device_key, "local-stack");
    EXPECT_NE(record.target.find(R"("backend":"stack")"), std::string::npos) << record.target;
  }
  const ProgramResult again = tune({"--trials", "16", "--resume"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(records().size(), 16u);

  const std::string db = folder.file("r.db"), number = std::to_string(all[0].id);
  const ProgramResult whole = fettle({"explain", number, "--db", db});
  EXPECT_EQ(whole.status, 0) << whole.err;
  for (const char* part : {"--- IR", "--- code", "jump_if_zero", "slots of the stack"}) {
    EXPECT_NE(whole.out.find(part), std::string::npos) << part;
  }
  const ProgramResult pass =
      fettle({"explain", number, "--db", db, "--dump-after", "flatten_storage"});
  EXPECT_EQ(pass.status, 0) << pass.err;
  EXPECT_NE(pass.out.find("--- IR after flatten_storage"), std::string::npos);
  const ProgramResult best = fettle({"records", "best", "--db", db});
  EXPECT_EQ(best.status, 0) << best.err;
  EXPECT_NE(best.out.find("softmax"), std::string::npos) << best.out;
}

TEST_F(ExtensionProgram, CorrectionsAreItsOwn) {
  EXPECT_EQ(tune({"--trials", "1", "--hardware", "threads=1"}).status, 1) << "a CPU's key";
  EXPECT_EQ(tune({"--trials", "1", "--hardware", "stack_slots=7"}).status, 2) << "too few";
  const ProgramResult more = tune({"--trials", "1", "--hardware", "stack_slots=65536"});
  EXPECT_EQ(more.status, 1);
  EXPECT_NE(more.err.find("has 64 slots"), std::string::npos) << more.err;
  EXPECT_TRUE(records().empty());
  EXPECT_EQ(tune({"--trials", "2", "--hardware", "stack_slots=32"}).status, 0);
  EXPECT_NE(records().at(0).target.find(R"("slots":32)"), std::string::npos);
}

TEST_F(ExtensionProgram, TheAgentTestsItselfAndKnowsItsOption) {
  const auto agent = [](std::vector<std::string> words) {
    words.insert(words.begin(), FETTLE_AGENT_PROGRAM);
    return testing::run_program(words);
  };
  const ProgramResult fine = agent({"--self-test", "--device-kind", "stack", "--stack-slots", "9"});
  EXPECT_EQ(fine.status, 0) << fine.err;
  EXPECT_NE(fine.out.find("stack machine"), std::string::npos) << fine.out;
  EXPECT_EQ(agent({"--self-test", "--device-kind", "stack", "--stack-slots", "3"}).status, 2);
}

}  // namespace
}  // namespace fettle::extension
