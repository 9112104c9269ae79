// A candidate answers for itself only, and without its sandbox none runs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>

#include "agent/sandbox/filter_program.h"
#include "tests/fault/candidate_station.h"
#include "tests/support/kernel_sandbox.h"

namespace fettle {
namespace {

using test::candidate_request;
using test::said;
using Station = test::CandidateStation;

class Trust : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::have_candidates()) GTEST_SKIP() << "no candidates for this architecture";
    // Older kernels are played by a filter.
    if (const auto why = test::why_no_call_filter(); !why.empty()) GTEST_SKIP() << why;
  }
};

constexpr int kLandlockCreateRuleset = 444;  // older systems' headers lack it

// As a kernel without these calls answers, for this process and its children.
void leave_out(std::initializer_list<int> calls) {
  agent::FilterProgram filter(SECCOMP_RET_ALLOW);
  for (const int call : calls) filter.on(call, SECCOMP_RET_ERRNO | ENOSYS);
  filter.answer(SECCOMP_RET_ALLOW);
  if (!filter.install().empty()) std::abort();
}
// A kernel without CONFIG_SECCOMP_FILTER.
void leave_seccomp_out() { leave_out({__NR_seccomp}); }

bool strict_here() { return test::why_not_strict().empty(); }

void expect_violation(Station& station, CandidateKind kind, const std::string& call) {
  const auto outcome = station.measure(kind);
  const auto* failure = outcome.body.AsFailure();
  ASSERT_TRUE(failure) << "candidate " << kind << " was measured";
  EXPECT_EQ(failure->error->code, ErrorCode::SandboxViolation) << said(outcome);
  EXPECT_NE(failure->error->message.find(call), std::string::npos) << said(outcome);
}

// What it writes for trials that are not its own counts for nobody, and it ends with its worker.
void forge_and_be_measured(Station& station, const std::string& words) {
  const auto forging = station.submit(candidate_request(kForge, station.answer()));
  const auto next = station.submit(candidate_request(kOneWrong, station.answer()));
  const auto outcome = station.wait_for(forging);
  ASSERT_TRUE(outcome);
  const auto* failure = outcome->body.AsFailure();
  ASSERT_TRUE(failure) << "its forgery went unseen";
  EXPECT_NE(failure->error->message.find(words), std::string::npos) << said(*outcome);
  // The next one is measured itself: it is wrong, which no forged outcome says.
  const auto own = station.wait_for(next);
  ASSERT_TRUE(own && own->body.AsFailure());
  EXPECT_EQ(own->body.AsFailure()->error->code, ErrorCode::WrongAnswer) << said(*own);
}

TEST_F(Trust, NextLeaseForgery) {
  Station station;
  forge_and_be_measured(station, strict_here() ? "sendto" : "");
  if (strict_here()) expect_violation(station, kPeek, "recvmsg");
  // Also where no filter keeps it from the socket.
  Station open({.allow_unsandboxed = true, .hidden = {}}, leave_seccomp_out);
  forge_and_be_measured(open, "what none of ours sends");
}

// No way to other code than what was loaded; and the next client meets another process.
TEST_F(Trust, PatchedWorkerPoisonsNextClient) {
  if (const auto why = test::why_not_strict(); !why.empty()) GTEST_SKIP() << why;
  Station station;
  expect_violation(station, kPatch, "mprotect");
  expect_violation(station, kMakeExecutable, "mprotect");
  expect_violation(station, kMapExecutable, "mmap");
  expect_violation(station, kMoveOverCode, "mremap");
  expect_violation(station, kLockFutex, "futex");
  const auto measured = [&](std::uint64_t session) {
    const auto outcome =
        station.wait_for(station.submit(candidate_request(kGood, station.answer()), session));
    EXPECT_TRUE(outcome && outcome->body.AsMeasurement());
    return station.queue().worker_pid();
  };
  EXPECT_NE(measured(1), measured(2));
}

TEST_F(Trust, SeccompAbsentRefuses) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a build with a sanitizer has no sandbox to miss";
#endif
  Station station({}, leave_seccomp_out);
  const std::string& why = station.queue().refusal();
  EXPECT_FALSE(station.queue().ready());
  EXPECT_NE(why.find("seccomp: Function not implemented"), std::string::npos) << why;
  EXPECT_NE(why.find("--allow-unsandboxed"), std::string::npos) << why;
  const auto refused = station.measure(kGood);
  ASSERT_TRUE(refused.body.AsFailure()) << "it ran";
  EXPECT_NE(said(refused).find("--allow-unsandboxed"), std::string::npos) << said(refused);
  std::printf("             %s\n", said(refused).c_str());

  Station allowed({.allow_unsandboxed = true, .hidden = {}}, leave_seccomp_out);
  EXPECT_TRUE(allowed.measure(kGood).body.AsMeasurement());
  EXPECT_EQ(allowed.queue().info().sandbox, wire::Sandbox::Limits) << "and says what holds";
}

// A key in a folder of its own, which is where the worker's relative paths begin.
class TrustKey : public Trust {
 protected:
  void SetUp() override {
    Trust::SetUp();
    std::filesystem::create_directory(folder_);
    std::ofstream(key_) << "secret";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void go_there() const { std::filesystem::current_path(folder_); }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("fettle_key_" + std::to_string(getpid()));
  const std::string key_ = folder_ / "secret.key";
};

// Not by its path; and where there is no filter, because it is hidden.
TEST_F(TrustKey, WorkerCannotReadKey) {
  if (!test::why_no_landlock().empty() && !test::why_no_mounts().empty()) {
    GTEST_SKIP() << test::why_no_landlock() << "; " << test::why_no_mounts();
  }
  {
    Station station({.allow_unsandboxed = false, .hidden = {key_}}, [&] { go_there(); });
    if (strict_here()) expect_violation(station, kOpenKey, "openat");
  }
  const auto without_seccomp = [&] {
    go_there();
    leave_seccomp_out();
  };
  {
    Station open({.allow_unsandboxed = true, .hidden = {}}, without_seccomp);
    const auto outcome = open.measure(kOpenKey);
    ASSERT_TRUE(outcome.body.AsFailure()) << "the test's own key cannot be read at all";
  }
  {
    Station station({.allow_unsandboxed = true, .hidden = {key_}}, without_seccomp);
    const auto outcome = station.measure(kOpenKey);
    EXPECT_TRUE(outcome.body.AsMeasurement()) << said(outcome);
  }
}

// A kernel before 5.13, or one that was started without Landlock: mounts of its own cover the key.
TEST_F(TrustKey, WorkerCannotReadKeyWithoutLandlock) {
  if (const auto why = test::why_no_mounts(); !why.empty()) GTEST_SKIP() << why;
  const auto neither = [&] {
    go_there();
    leave_out({__NR_seccomp, kLandlockCreateRuleset});
  };
  {
    Station open({.allow_unsandboxed = true, .hidden = {}}, neither);
    const auto outcome = open.measure(kOpenKey);
    ASSERT_TRUE(outcome.body.AsFailure()) << "the test's own key cannot be read at all";
  }
  Station station({.allow_unsandboxed = true, .hidden = {key_}}, neither);
  const auto outcome = station.measure(kOpenKey);
  EXPECT_TRUE(outcome.body.AsMeasurement()) << said(outcome);
}

}  // namespace
}  // namespace fettle
