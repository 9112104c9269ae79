// What the end-to-end tests of `fettle tune` share: the programs, a small task
// list, JSON lines, and what must hold for every database.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "host/records/queries.h"
#include "tests/support/running_program.h"

namespace fettle::testing {

class TuneTest : public ::testing::Test {
 protected:
  TuneTest() {
    std::ofstream(tasks) << R"([
      {"op": "conv2d", "layout": "NHWC", "batch": 1, "height": 14, "width": 14, "in_channels": 16,
       "out_channels": 32, "kernel": [3, 3], "stride": [1, 1], "pad": [1, 1], "dilation": [1, 1],
       "groups": 1, "dtype": "float32", "tail": ["bias", "relu"], "weight": 2},
      {"op": "dense", "batch": 1, "in_features": 256, "out_features": 128, "dtype": "float32",
       "tail": ["bias"]}])";
  }

  std::vector<std::string> tune(std::vector<std::string> more) const {
    std::vector<std::string> words = {
        FETTLE_PROGRAM,    "tune", tasks, "--json", "--db", db, "--repeat", "3",
        "--min-repeat-ms", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::map<std::string, std::string> environment() const {
    return {{"FETTLE_HOME", folder.file("home")}, {"FETTLE_AGENT", FETTLE_AGENT_PROGRAM}};
  }

  struct Session {
    std::vector<nlohmann::json> trials, finals;
    nlohmann::json summary;
  };
  // Every line is an object; nothing else is on standard output.
  static Session parse(const std::string& out) {
    Session session;
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) {
      const auto object = nlohmann::json::parse(line, nullptr, false);
      EXPECT_TRUE(object.is_object()) << line;
      if (!object.is_object()) continue;
      if (object["event"] == "trial") session.trials.push_back(object);
      if (object["event"] == "finals") session.finals.push_back(object);
      if (object["event"] == "summary") session.summary = object;
    }
    return session;
  }

  std::vector<records::TuningRecord> records() const {
    auto database = records::Database::open(db, {.read_only = true, .create = false});
    EXPECT_TRUE(database.ok()) << (database ? "" : database.error().text());
    if (!database) return {};
    return records::history(*database, {}).value();
  }

  // No configuration of a task twice; no wrong or implausible answers; a time for each task.
  void expect_sound_database(std::size_t least_records, std::size_t tasks = 2) const {
    const auto all = records();
    EXPECT_GE(all.size(), least_records);
    std::set<std::string> seen, timed;
    for (const auto& record : all) {
      EXPECT_TRUE(seen.insert(record.workload + record.configuration).second)
          << "measured twice: " << record.configuration;
      if (record.nanoseconds()) timed.insert(record.workload);
      const wire::FailureT* failure = record.failure();
      if (!failure || !failure->error) continue;
      for (ErrorCode code :
           {ErrorCode::WrongAnswer, ErrorCode::WrongAfterTiming, ErrorCode::UnwrittenOutput,
            ErrorCode::StrayWrite, ErrorCode::Implausible, ErrorCode::Crash,
            ErrorCode::SandboxViolation}) {
        EXPECT_NE(failure->error->code, code)
            << failure->error->message << " " << record.configuration;
      }
    }
    EXPECT_EQ(timed.size(), tasks);
  }

  ScratchFolder folder;
  std::string tasks = folder.file("tasks.json"), db = folder.file("tuning.db");
};

}  // namespace fettle::testing
