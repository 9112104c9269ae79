// libfettle: operators as a user's program states them, and the example that tunes one with a
// sketch of its own.
#include <gtest/gtest.h>

#include <filesystem>

#include "fettle/operator.h"
#include "host/records/queries.h"
#include "host/space/workload.h"
#include "tests/support/running_program.h"

namespace fettle::testing {
namespace {

using std::chrono::seconds;

// The same convolution with padding as one of fettle's own operators: the same task.
TEST(Library, AnOperatorIsTheComputeDagThatItStates) {
  const Axis y{"y", 8}, x{"x", 8}, py{"py", 10}, px{"px", 10}, c{"c", 4}, ky{"ky", 3}, kx{"kx", 3};
  Operator op("depthwise by hand");
  const Tensor image = op.input("image", {8, 8, 4}), weights = op.constant("weights", {3, 3, 4});
  const Tensor padded = op.stage(
      "padded", {py, px, c},
      image(py - 1, px - 1, c).where(1 <= py && py < 9 && 1 <= Value(px) && Value(px) - 1 < 8));
  const Tensor sums =
      op.sum("sums", {y, x, c}, {ky, kx}, padded(y + ky, x + kx, c) * weights(ky, kx, c));
  op.output("out", {y, x, c}, relu(sums(y, x, c)) * 0.5f);
  const auto workload = space::Workload::parse(op.json());
  ASSERT_TRUE(workload) << workload.error().text() << op.json();
  EXPECT_EQ(workload->title(), "depthwise by hand");
  const auto& stages = workload->dag().stages;
  ASSERT_EQ(stages.size(), 5u);
  EXPECT_EQ(stages[3].reduce_axes.size(), 2u);
  EXPECT_EQ(stages.back().role, ir::Role::Output);
  Operator other = op;
  EXPECT_EQ(other.json(), op.json());
  EXPECT_FALSE(workload->dag().allow_tf32);
  op.allow_tf32();
  const auto allowing = space::Workload::parse(op.json());
  ASSERT_TRUE(allowing) << allowing.error().text();
  EXPECT_TRUE(allowing->dag().allow_tf32);
  EXPECT_NE(allowing->hash(), workload->hash());
}

TEST(Library, WhatIsStatedWrongIsNamed) {
  const Axis n{"n", 8};
  Operator op("off by one");
  const Tensor x = op.input("x", {8});
  op.output("y", {n}, x(n + 1));
  const auto workload = space::Workload::parse(op.json());
  ASSERT_FALSE(workload);
  EXPECT_NE(workload.error().message.find("\"y\""), std::string::npos) << workload.error().message;
}

TEST(Library, NumbersKeepTheirTypes) {
  EXPECT_EQ(Value(2).text(), "2");
  EXPECT_EQ(Value(-2).text(), "(-2)");
  EXPECT_EQ(Value(2.0).text(), "2.0");
  EXPECT_EQ(Value(-0.5).text(), "(-0.5)");
  EXPECT_EQ(Value(1e-7).text(), "1e-07");
  EXPECT_EQ((Value(Axis{"n", 3}) * 2 + 1).text(), "((n * 2) + 1)");
}

class LibraryExample : public ::testing::Test {
 protected:
  std::map<std::string, std::string> environment() const {
    return {{"FETTLE_HOME", folder.file("home")}, {"FETTLE_AGENT", FETTLE_AGENT_PROGRAM}};
  }
  ScratchFolder folder;
};

// By name on fettle's command line: build workers are the example, too, so that they know its
// operator and its sketch.
TEST_F(LibraryExample, ItsSketchIsTunedBesideOurs) {
  const std::string db = folder.file("example.db");
  const auto result =
      run_program({FETTLE_EXAMPLE, "tune", "swish-dense", "--device", "local", "--trials", "40",
                   "--searcher", "random", "--repeat", "3", "--min-repeat-ms", "1", "--db", db},
                  seconds(200), environment());
  ASSERT_EQ(result.status, 0) << result.err;
  auto database = records::Database::open(db, {.read_only = true, .create = false});
  ASSERT_TRUE(database) << database.error().text();
  int own = 0, others = 0;
  const auto history = records::history(*database, {});
  ASSERT_TRUE(history) << history.error().text();
  for (const auto& record : *history) {
    EXPECT_EQ(record.title, "dense 16x256 to 128 with swish");
    if (!record.nanoseconds()) continue;
    (record.configuration.find("rows_of_vectors") != std::string::npos ? own : others) += 1;
  }
  EXPECT_GT(own, 0);
  EXPECT_GT(others, 0);
  const auto unknown =
      run_program({FETTLE_EXAMPLE, "tune", "no-such-net", "--db", db}, seconds(20), environment());
  EXPECT_EQ(unknown.status, 1);
  EXPECT_NE(unknown.err.find("swish-dense"), std::string::npos) << unknown.err;
}

// Without a command it tunes from its own main(), and prints what the database then knows.
TEST_F(LibraryExample, TunesFromItsOwnMain) {
  const auto result = run_program(
      {"/bin/sh", "-c", "cd \"$1\" && exec \"$2\"", "sh", folder.file("."), FETTLE_EXAMPLE},
      seconds(250), environment());
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find(" us by {\"knobs\":"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace fettle::testing
