// What Kernel Tuner and KTT write, as a recording: no point and no failure is lost.
#include <gtest/gtest.h>
#include <fstream>

#include "host/replay/recording.h"
#include "tests/support/running_program.h"

namespace fettle::bench {
namespace {

using testing::run_program;

constexpr const char* kCache = R"({"device_name": "GPU of others", "kernel_name": "sum",
  "tune_params": {"block": [16, 32, 64], "layout": ["row", "column"], "one": [7]},
  "objective": "time", "cache": {
    "16,row,7": {"block": 16, "layout": "row", "one": 7, "time": 0.25},
    "32,row,7": {"block": 32, "layout": "row", "one": 7, "time": "CompilationFailedConfig"},
    "64,column,7": {"block": 64, "layout": "column", "one": 7, "time": 1}}})";

constexpr const char* kOutput = R"({"Metadata": {"Device": "GPU of others",
  "TimeUnit": "Microseconds"}, "Results": [
    {"KernelName": "sum", "Status": "Ok", "TotalDuration": 500.0,
     "Configuration": [{"Name": "BLOCK", "Value": 32}, {"Name": "ONE", "Value": 7}]},
    {"KernelName": "sum", "Status": "CompilationFailed", "TotalDuration": 0.0,
     "Configuration": [{"Name": "BLOCK", "Value": 64}, {"Name": "ONE", "Value": 7}]},
    {"KernelName": "sum", "Status": "Ok", "TotalDuration": 750.0,
     "Configuration": [{"Name": "BLOCK", "Value": 16}, {"Name": "ONE", "Value": 7}]},
    {"KernelName": "sum", "Status": "Ok", "TotalDuration": 250.0,
     "Configuration": [{"Name": "BLOCK", "Value": 32}, {"Name": "ONE", "Value": 7}]}]})";

class PublishedRecording : public ::testing::Test {
 protected:
  void SetUp() override {
    if (run_program({"python3", "--version"}).status != 0) GTEST_SKIP() << "no python3 here";
  }
  std::string written(const std::string& text) {
    std::ofstream(folder.file("cache.json")) << text;
    const auto ran =
        run_program({"python3", FETTLE_SCRIPT, folder.file("cache.json"), recording()});
    return ran.status == 0 ? "" : ran.err;
  }
  std::string recording() const { return folder.file("space.jsonl.gz"); }
  testing::ScratchFolder folder;
};

TEST_F(PublishedRecording, HoldsEveryPoint) {
  ASSERT_EQ(written(kCache), "");
  const auto read = replay::read_recording(recording());
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->workload.title(), "sum on GPU of others");
  ASSERT_EQ(read->space.sketches().size(), 1u);
  const auto& knobs = read->space.sketches()[0].knobs;
  ASSERT_EQ(knobs.size(), 2u) << "one value is no choice";
  EXPECT_EQ(knobs[0].name, "block");
  EXPECT_EQ(knobs[0].options[2], space::KnobValue{64});
  EXPECT_EQ(knobs[1].options[1], space::KnobValue{1}) << "a text stands for its place";
  ASSERT_EQ(read->trials.size(), 3u);
  EXPECT_DOUBLE_EQ(read->best_nanoseconds(), 250'000);
  EXPECT_EQ(read->trials[1].nanoseconds, 0);
  EXPECT_EQ(read->trials[1].code, ErrorCode::BuildError);
  // What has no program cannot be measured; points of one program are measured once.
  EXPECT_FALSE(read->trials[0].program.empty());
  EXPECT_NE(read->trials[0].program, read->trials[2].program);
  EXPECT_TRUE(read->find({0, {2, 1}}).ok());
  EXPECT_FALSE(read->find({0, {0, 1}}).ok()) << "a point that nobody measured";
}

TEST_F(PublishedRecording, HoldsEveryPointOfKttOnce) {
  ASSERT_EQ(written(kOutput), "");
  const auto read = replay::read_recording(recording());
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->workload.title(), "sum on GPU of others");
  const auto& knobs = read->space.sketches()[0].knobs;
  ASSERT_EQ(knobs.size(), 1u) << "one value is no choice";
  EXPECT_EQ(knobs[0].options[0], space::KnobValue{16}) << "in order";
  ASSERT_EQ(read->trials.size(), 3u);
  EXPECT_DOUBLE_EQ(read->best_nanoseconds(), 250'000) << "the faster one of two of a point";
  const auto failed = read->find({0, {2}});
  ASSERT_TRUE(failed.ok());
  EXPECT_EQ(read->trials[*failed].code, ErrorCode::BuildError);
}

TEST_F(PublishedRecording, WhatIsNoneIsSaidInOneLine) {
  EXPECT_NE(written("{").find("is no JSON"), std::string::npos);
  EXPECT_NE(written("{}").find("has no \"tune_params\""), std::string::npos);
  std::string other = kCache;
  other.replace(other.find("\"objective\": \"time\""), 19, "\"objective\": \"power\"");
  EXPECT_NE(written(other).find("tuned for power"), std::string::npos);
  other = kOutput;
  other.replace(other.find("Microseconds"), 12, "Fortnights");
  EXPECT_NE(written(other).find("unknown unit of time Fortnights"), std::string::npos);
  other = kCache;
  other.replace(other.find("\"block\": 64"), 11, "\"block\": 65");
  EXPECT_NE(written(other).find("no such value"), std::string::npos);
  EXPECT_FALSE(replay::read_recording(recording()).ok()) << "nothing half-written stays";
}

}  // namespace
}  // namespace fettle::bench
