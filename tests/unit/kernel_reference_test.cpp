// What a kernel's outputs must be: by a C function, .npy files or a DAG; each of their mistakes is
// one clear line, and a function that crashes costs nothing but that line.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <thread>

#include "host/kernel_reference/kernel_reference.h"
#include "host/model/kernel_file.h"
#include "host/process/child_process.h"
#include "host/process/run_program.h"
#include "runtime/tensor_files/npy.h"
#include "tests/support/kernel_sample.h"

namespace fettle::kernel_reference {
namespace {

using testing::KernelSample;

Result<std::vector<space::ExpectedTensor>> expected_of(const KernelSample& sample,
                                                       const std::stop_token& stop = {}) {
  const auto list = model::load_kernel(sample.file());
  EXPECT_TRUE(list.ok()) << (list ? "" : list.error().text());
  if (!list) return list.error();
  return evaluate(*list->tasks.front().workload.kernel(), list->folder, stop);
}

std::vector<float> floats(const std::vector<std::uint8_t>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// An .npy of 1024 floats, each `value`.
std::string npy_of(float value, const std::string& shape = "(1024,)",
                   const std::string& type = "<f4") {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(118, ' ');
  std::string text("\x93NUMPY\x01\x00\x76\x00", 10);
  text += header;
  for (int i = 0; i < 1024; ++i) text.append(reinterpret_cast<const char*>(&value), sizeof value);
  return text;
}

TEST(KernelReference, ACFunctionSeesInputsConstantsAndScalars) {
  const KernelSample sample;
  const auto expected = expected_of(sample);
  ASSERT_TRUE(expected.ok()) << expected.error().text();
  ASSERT_EQ(expected->size(), 1u);
  const auto values = floats(expected->front().bytes);
  ASSERT_EQ(values.size(), 1024u);
  double squares = 0;
  for (const float value : values) {
    EXPECT_GE(std::fabs(value), 0.5f);
    EXPECT_LE(std::fabs(value), 2.0f);
    squares += double(value) * value;
  }
  EXPECT_EQ(expected->front().name, "to");
  EXPECT_NEAR(expected->front().tolerance.absolute, 1e-4 * std::sqrt(squares / 1024), 1e-12);
  EXPECT_EQ(expected->front().tolerance.relative, 1e-4);
}

// What is infinite, or a mask, does not make any other answer right.
TEST(KernelReference, OneHugeElementDoesNotWidenTheTolerance) {
  for (const char* huge : {"1.0f / 0.0f", "-1e30f", "0.0f / 0.0f"}) {
    const KernelSample sample;
    sample.write("twice_reference.c",
                 "void plainly(const float* from, float* to, float f) {\n"
                 "  for (int i = 0; i < 1024; ++i) to[i] = f * from[i];\n"
                 "  to[7] = " +
                     std::string(huge) + ";\n}\n");
    const auto expected = expected_of(sample);
    ASSERT_TRUE(expected.ok()) << expected.error().text();
    EXPECT_GT(expected->front().tolerance.absolute, 1e-5) << huge;
    EXPECT_LT(expected->front().tolerance.absolute, 2e-3) << huge;
  }
}

TEST(KernelReference, AStatedToleranceCounts) {
  const KernelSample sample;
  sample.change("function = \"plainly\"", "function = \"plainly\"\nabsolute = 0.5");
  const auto expected = expected_of(sample);
  ASSERT_TRUE(expected.ok()) << expected.error().text();
  EXPECT_EQ(expected->front().tolerance.absolute, 0.5);
  EXPECT_EQ(expected->front().tolerance.relative, 0);
}

TEST(KernelReference, ACrashIsOneLine) {
  const KernelSample sample;
  sample.write("twice_reference.c",
               "void plainly(const float* from, float* to, float f) { *(int*)(long)f = 1; }\n");
  const auto expected = expected_of(sample);
  ASSERT_FALSE(expected.ok());
  EXPECT_EQ(expected.error().code, ErrorCode::Crash);
  EXPECT_EQ(expected.error().text(),
            "the reference twice_reference.c: it ended with signal SIGSEGV (Segmentation fault)");
}

TEST(KernelReference, AnExitIsOneLineWithItsLastWords) {
  const KernelSample sample;
  sample.write("twice_reference.c",
               "void plainly(const float* from, float* to, float f) {\n"
               "  fprintf(stderr, \"first\\nno such luck\\n\"); exit(3);\n}\n");
  const auto expected = expected_of(sample);
  EXPECT_EQ(expected.error().text(),
            "the reference twice_reference.c: it ended with exit status 3, and said: no such luck");
}

TEST(KernelReference, WhatDoesNotCompileIsNamedByTheUsersLine) {
  const KernelSample sample;
  sample.write("twice_reference.c", "\nvoid plainly(const float* from) { nothing; }\n");
  const std::string said = expected_of(sample).error().text();
  EXPECT_TRUE(
      said.starts_with("the reference twice_reference.c: it does not compile: "
                       "twice_reference.c:2:"))
      << said;
  EXPECT_EQ(said.find('\n'), std::string::npos);
}

TEST(KernelReference, AnEndlessOneIsStoppedWithTheSession) {
  const KernelSample sample;
  sample.write("twice_reference.c",
               "void plainly(const float* from, float* to, float f) { for (;;) to[0] += 1; }\n");
  std::stop_source stop;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    stop.request_stop();
  });
  const auto begin = std::chrono::steady_clock::now();
  const auto expected = expected_of(sample, stop.get_token());
  later.join();
  EXPECT_EQ(expected.error().code, ErrorCode::Canceled);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(KernelReference, AnNpyIsTheOutput) {
  const KernelSample sample;
  sample.change("file = \"twice_reference.c\"\nfunction = \"plainly\"", "file = \"right.npy\"");
  sample.write("right.npy", npy_of(3));
  const auto expected = expected_of(sample);
  ASSERT_TRUE(expected.ok()) << expected.error().text();
  EXPECT_EQ(floats(expected->front().bytes), std::vector<float>(1024, 3.0f));
}

TEST(KernelReference, AnNpyMustFit) {
  const KernelSample sample;
  sample.change("file = \"twice_reference.c\"\nfunction = \"plainly\"", "file = \"right.npy\"");
  sample.write("right.npy", npy_of(3, "(32, 32)"));
  EXPECT_NE(expected_of(sample).error().text().find(
                "right.npy is 32x32 of float32, the output to is 1024 of float32"),
            std::string::npos);
  sample.write("right.npy", npy_of(3, "(1024,)", "<i4"));
  EXPECT_NE(expected_of(sample).error().text().find("1024 of int32, the output"),
            std::string::npos);
  // Another one than the task was stated with.
  const auto list = model::load_kernel(sample.file());
  sample.write("right.npy", npy_of(4));
  const auto changed = evaluate(*list->tasks.front().workload.kernel(), list->folder);
  EXPECT_NE(changed.error().text().find("is not there as it was"), std::string::npos);
}

TEST(KernelReference, OddNpysAreRefused) {
  EXPECT_FALSE(parse_npy(""));
  EXPECT_FALSE(parse_npy("\x93NUMPY"));
  EXPECT_FALSE(parse_npy(npy_of(1).substr(0, 200)));
  EXPECT_FALSE(parse_npy(npy_of(1) + "x"));
  EXPECT_FALSE(parse_npy(npy_of(1, "(99999999999999999999,)")));
  EXPECT_FALSE(parse_npy(npy_of(1, "(4294967296, 4294967296)")));
  EXPECT_NE(parse_npy(npy_of(1, "(1024,)", "<c8")).error().text().find("<c8"), std::string::npos);
  EXPECT_EQ(parse_npy(npy_of(1, "(2, 512)")).value().shape, (std::vector<std::int64_t>{2, 512}));
}

// fettle's own reference evaluator judges, on the kernel's inputs.
TEST(KernelReference, ADagMayBeIt) {
  const KernelSample sample;
  sample.change("file = \"twice_reference.c\"\nfunction = \"plainly\"", "file = \"twice.json\"");
  const auto dag = [](int elements) {
    return R"({"stages":[{"name":"from","role":"input","type":"float32","axes":[["n",)" +
           std::to_string(elements) +
           R"(]]},{"name":"out","role":"output","value":"from[n] * 2","axes":[["n",)" +
           std::to_string(elements) + "]]}]}";
  };
  sample.write("twice.json", dag(1024));
  const auto expected = expected_of(sample);
  ASSERT_TRUE(expected.ok()) << expected.error().text();
  const KernelSample by_function;
  EXPECT_EQ(expected->front().bytes, expected_of(by_function)->front().bytes);
  sample.write("twice.json", dag(1000));
  EXPECT_NE(expected_of(sample).error().text().find(
                "its input from is 1000 of float32, the kernel's is 1024 of float32"),
            std::string::npos);
  sample.write("twice.json", "{\"op\":");
  EXPECT_NE(expected_of(sample).error().text().find("the reference twice.json: "),
            std::string::npos);
}

TEST(RunProgram, TellsHowItEnded) {
  using process::run_program;
  process::RunPlan plan;
  plan.argv = {"sh", "-c", "echo out; echo err >&2; exit 7"};
  auto ran = run_program(plan);
  ASSERT_TRUE(ran.ok());
  EXPECT_EQ(WEXITSTATUS(ran->status), 7);
  EXPECT_EQ(ran->said, "out\nerr\n");
  plan.argv = {"sleep", "30"};
  plan.limit = std::chrono::milliseconds(100);
  EXPECT_EQ(run_program(plan).error().code, ErrorCode::Timeout);
  plan.argv = {"/nonexistent/program"};
  EXPECT_EQ(run_program(plan).error().code, ErrorCode::Io);
  EXPECT_EQ(process::find_program("no-such-program-here"), "");
}

// A compiler's driver starts others, who do the work.
TEST(RunProgram, WhatAProgramStartedEndsWithItAtTheLimit) {
  const process::ScratchFolder scratch;
  const std::string file = scratch.file("pid");
  process::RunPlan plan;
  plan.argv = {"sh", "-c", "sleep 60 & echo $! >\"$0\"; wait", file};
  plan.limit = std::chrono::seconds(3);  // for a shell to start beside others
  EXPECT_EQ(process::run_program(plan).error().code, ErrorCode::Timeout);
  const std::string pid = process::read_file(file);
  ASSERT_FALSE(pid.empty());
  bool runs = true;
  for (int i = 0; runs && i < 500; ++i) {
    // Another's to reap, once it has ended.
    const std::string status =
        process::read_file("/proc/" + std::to_string(std::stoi(pid)) + "/stat");
    runs = !status.empty() && status.find(") Z ") == std::string::npos;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(runs);
}

// Whoever ignores SIGCHLD is never told how a child ended.
TEST(RunProgram, AnEndThatNobodyIsToldIsAnError) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  process::RunPlan plan;
  plan.argv = {"true"};
  plan.limit = std::chrono::seconds(20);
  const auto ran = process::run_program(plan);
  std::signal(SIGCHLD, before);
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code, ErrorCode::Io) << ran.error().text();
}

// As the driver of a compiler waits for those that it starts.
TEST(RunProgram, ProgramsHearOfTheirChildren) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  process::ChildPlan plan;
  const process::ScratchFolder scratch;
  plan.argv = {"sh", "-c", "grep SigIgn /proc/self/status >\"$0\"; kill $$", scratch.file("said")};
  const auto child = process::start_child(plan);
  ASSERT_TRUE(child.ok());
  while (::waitpid(*child, nullptr, 0) > 0 || errno == EINTR) {
  }
  std::signal(SIGCHLD, before);
  const std::string said = process::read_file(scratch.file("said"));
  ASSERT_NE(said.find("SigIgn:"), std::string::npos) << said;
  EXPECT_EQ(std::stoull(said.substr(said.find_last_of(" \t")), nullptr, 16) & 1u << (SIGCHLD - 1),
            0u);
}

}  // namespace
}  // namespace fettle::kernel_reference
