// Builders that crash, hang, leave, eat memory or write nonsense: each costs the
// candidate it was on, by name, and the pool goes on.
#include <gtest/gtest.h>

#include <dirent.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "host/fleet/build_pool.h"

namespace fettle::fleet {
namespace {

using std::chrono::milliseconds;

std::unique_ptr<BuildPool> start(std::vector<std::string> arguments = {}, std::size_t workers = 2,
                                 milliseconds deadline = milliseconds(20'000)) {
  BuildPoolOptions options;
  options.argv = {FLEET_TEST_BUILDER};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.workers = workers;
  options.deadline = deadline;
  options.memory_bytes = std::uint64_t{1} << 30;
  auto pool = BuildPool::start(std::move(options));
  EXPECT_TRUE(pool.ok()) << pool.error().text();
  return std::move(*pool);
}

void ask(BuildPool& pool, std::uint64_t id, const std::string& how) {
  wire::BuildRequestT request;
  request.id = id;
  request.workload = request.target = "{}";
  request.configuration = how;
  pool.submit(std::move(request));
}

std::map<std::uint64_t, wire::BuildResultT> collect(BuildPool& pool, std::size_t count) {
  std::map<std::uint64_t, wire::BuildResultT> all;
  for (int i = 0; i < 600 && all.size() < count; ++i) {
    auto some = pool.poll(milliseconds(100));
    EXPECT_TRUE(some.ok()) << some.error().text();
    if (!some) break;
    for (auto& one : *some) {
      EXPECT_EQ(one.id, one.result.id);
      EXPECT_TRUE(all.emplace(one.id, std::move(one.result)).second);
    }
  }
  EXPECT_EQ(all.size(), count);
  return all;
}

const wire::ErrorT& error_of(const wire::BuildResultT& result) {
  static const wire::ErrorT none;
  EXPECT_NE(result.body.AsFailure(), nullptr);
  if (!result.body.AsFailure()) return none;
  EXPECT_EQ(result.body.AsFailure()->stage, wire::Stage::Build);
  return *result.body.AsFailure()->error;
}

// Children of this process, by /proc.
std::vector<pid_t> child_processes() {
  std::vector<pid_t> found;
  DIR* tasks = ::opendir("/proc/self/task");
  while (const dirent* task = ::readdir(tasks)) {
    if (task->d_name[0] == '.') continue;
    const std::string path = std::string("/proc/self/task/") + task->d_name + "/children";
    if (FILE* file = std::fopen(path.c_str(), "r")) {
      for (long pid; std::fscanf(file, "%ld", &pid) == 1;) found.push_back(static_cast<pid_t>(pid));
      std::fclose(file);
    }
  }
  ::closedir(tasks);
  return found;
}
std::size_t children() { return child_processes().size(); }

TEST(BuildPool, BuildsAndIsReadyToPoll) {
  auto pool = start();
  EXPECT_EQ(pool->workers(), 2u);
  for (std::uint64_t i = 0; i < 50; ++i)
    ask(*pool, i, i % 10 == 3 ? "large" : "well " + std::to_string(i));
  pollfd ready{pool->ready_fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, 20'000), 1);
  const auto all = collect(*pool, 50);
  for (const auto& [id, result] : all) {
    ASSERT_NE(result.body.AsBuildOutput(), nullptr);
    if (id % 10 == 3) {
      EXPECT_EQ(result.body.AsBuildOutput()->program->images[0]->bytes.size(), 3'000'000u);
    } else {
      EXPECT_EQ(result.body.AsBuildOutput()->program->target, "well " + std::to_string(id));
    }
    EXPECT_GT(result.build_ns, 0u);
  }
  EXPECT_EQ(::poll(&ready, 1, 0), 0) << "nothing is left, so it must not be readable";
}

TEST(BuildPool, ARefusalIsTheWorkersOwnFailure) {
  auto pool = start();
  ask(*pool, 1, "refuse");
  const auto all = collect(*pool, 1);
  EXPECT_EQ(error_of(all.at(1)).code, ErrorCode::BuildError);
}

TEST(BuildPool, ACrashCostsItsCandidateOnly) {
  auto pool = start();
  const char* how[] = {"segv", "exit", "alone"};
  for (std::uint64_t i = 0; i < 12; ++i) ask(*pool, i, i % 4 == 3 ? "well" : how[i % 4]);
  const auto all = collect(*pool, 12);
  for (const auto& [id, result] : all) {
    if (id % 4 == 3) {
      EXPECT_NE(result.body.AsBuildOutput(), nullptr);
      continue;
    }
    EXPECT_EQ(error_of(result).code, ErrorCode::CompilerCrash);
    const std::string expected = id % 4 == 0   ? "SIGSEGV"
                                 : id % 4 == 1 ? "exit status 3"
                                               : "SIGKILL";
    EXPECT_NE(error_of(result).message.find(expected), std::string::npos)
        << error_of(result).message;
  }
  EXPECT_NE(error_of(all.at(0)).message.find("about to read where nothing is"), std::string::npos);
}

TEST(BuildPool, AHangIsABuildTimeout) {
  auto pool = start({}, 2, milliseconds(300));
  ask(*pool, 1, "hang");
  ask(*pool, 2, "hang");
  ask(*pool, 3, "well");
  const auto all = collect(*pool, 3);
  EXPECT_EQ(error_of(all.at(1)).code, ErrorCode::BuildTimeout);
  EXPECT_EQ(error_of(all.at(2)).code, ErrorCode::BuildTimeout);
  EXPECT_NE(all.at(3).body.AsBuildOutput(), nullptr);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(BuildPool, MemoryHasALimit) {  // sanitizers need the address space for themselves
  auto pool = start();
  ask(*pool, 1, "eat");
  ask(*pool, 2, "well");
  const auto all = collect(*pool, 2);
  EXPECT_EQ(error_of(all.at(1)).code, ErrorCode::OutOfMemory);
  EXPECT_NE(all.at(2).body.AsBuildOutput(), nullptr);
}
#endif

TEST(BuildPool, GarbageIsNotRead) {
  for (const char* mode : {"garbage", "length"}) {
    auto pool = start({mode});
    ask(*pool, 1, "well");
    ask(*pool, 2, "well");
    const auto all = collect(*pool, 2);
    for (const auto& [id, result] : all) EXPECT_EQ(error_of(result).code, ErrorCode::CompilerCrash);
  }
}

TEST(BuildPool, WhatALibraryPrintsIsNoFrame) {
  auto pool = start();
  ask(*pool, 1, "print");
  EXPECT_NE(collect(*pool, 1).at(1).body.AsBuildOutput(), nullptr);
}

TEST(BuildPool, AProgramThatIsNoBuilderIsAnError) {
  auto pool = start({"no-worker"});
  for (std::uint64_t i = 0; i < 20; ++i) ask(*pool, i, "well");
  Result<std::vector<tune::Built>> polled = std::vector<tune::Built>{};
  for (int i = 0; i < 200 && polled; ++i) polled = pool->poll(milliseconds(50));
  ASSERT_FALSE(polled.ok());
  EXPECT_NE(polled.error().message.find("I am no build worker"), std::string::npos)
      << polled.error().text();
}

TEST(BuildPool, AnAbsentProgramIsAnError) {
  BuildPoolOptions options;
  options.argv = {"/nowhere/at-all"};
  auto pool = BuildPool::start(options);
  ASSERT_FALSE(pool.ok());
  EXPECT_NE(pool.error().text().find("/nowhere/at-all"), std::string::npos) << pool.error().text();
}

TEST(BuildPool, LeavesNoChildBehind) {
  const std::size_t before = children();
  auto pool = start({}, 3);
  EXPECT_EQ(children(), before + 3);
  ask(*pool, 1, "hang");
  ask(*pool, 2, "segv");
  for (int i = 0; i < 100 && pool->poll(milliseconds(50))->empty(); ++i) {
  }
  // The dead one is replaced when the pool is next polled.
  for (int i = 0; i < 100 && children() < before + 3; ++i) (void)pool->poll(milliseconds(50));
  EXPECT_EQ(children(), before + 3);
  pool.reset();
  EXPECT_EQ(children(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child was not reaped";
}

// It is killed, and removes nothing itself.
TEST(BuildPool, LeavesNoFileOfABuilderBehind) {
  auto pool = start({}, 1);
  ask(*pool, 1, "leave files");
  const auto built = collect(*pool, 1);
  ASSERT_NE(built.at(1).body.AsBuildOutput(), nullptr);
  const std::filesystem::path file = built.at(1).body.AsBuildOutput()->program->target;
  EXPECT_TRUE(std::filesystem::exists(file)) << file;
  const auto place = file.parent_path().parent_path();
  EXPECT_NE(place, std::filesystem::temp_directory_path());
  pool.reset();
  EXPECT_FALSE(std::filesystem::exists(place)) << place;
}

TEST(BuildPool, MovesToOtherCoresAndBack) {
  cpu_set_t here;
  ASSERT_EQ(::sched_getaffinity(0, sizeof here, &here), 0);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &here)) cores.push_back(core);
  }
  if (cores.size() < 2) GTEST_SKIP() << "this process has one core only";
  const auto on = [](pid_t child) {
    cpu_set_t set;
    EXPECT_EQ(::sched_getaffinity(child, sizeof set, &set), 0);
    std::vector<int> found;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) found.push_back(core);
    }
    return found;
  };
  auto pool = start({}, 2);
  ask(*pool, 1, "hang");
  const std::vector<int> last = {cores.back()};
  pool->keep_to(last);
  std::vector<pid_t> builders = child_processes();
  ASSERT_EQ(builders.size(), 2u);
  for (const pid_t builder : builders) EXPECT_EQ(on(builder), last);
  // One that is started later goes where the others are.
  ask(*pool, 2, "segv");
  EXPECT_EQ(collect(*pool, 1).count(2), 1u);
  const auto replaced = [&] { return child_processes() != builders && children() == 2; };
  for (int i = 0; i < 200 && !replaced(); ++i) ::usleep(10'000);
  ASSERT_TRUE(replaced());
  builders = child_processes();
  for (const pid_t builder : builders) {
    // It goes there itself, right after it is forked.
    for (int i = 0; i < 200 && on(builder) != last; ++i) ::usleep(10'000);
    EXPECT_EQ(on(builder), last);
  }
  pool->keep_to(cores);
  for (const pid_t builder : builders) EXPECT_EQ(on(builder), cores);
}

// Two builds on one core would both be done when the second is.
TEST(BuildPool, AsManyAtOnceAsThereAreCores) {
  auto pool = start({}, 2);
  cpu_set_t here;
  ASSERT_EQ(::sched_getaffinity(0, sizeof here, &here), 0);
  int core = 0;
  while (!CPU_ISSET(core, &here)) ++core;
  pool->keep_to({core});
  ask(*pool, 100, "well");  // a builder's start may take longer than a build that counts
  collect(*pool, 1);
  for (std::uint64_t i = 0; i < 20; ++i) ask(*pool, i, "tell process");
  std::set<std::string> builders;
  for (const auto& [id, result] : collect(*pool, 20)) {
    ASSERT_NE(result.body.AsBuildOutput(), nullptr);
    builders.insert(result.body.AsBuildOutput()->program->target);
  }
  EXPECT_EQ(builders.size(), 1u) << "the first one was free each time";
}

// Ctrl-Z stops host and builders: that time is not the candidate's.
TEST(BuildPool, AStoppedHostChargesNoCandidate) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t host = ::fork();
  if (host == 0) {
    ::setpgid(0, 0);
    auto pool = start({}, 1, milliseconds(2000));
    ask(*pool, 0, "well");
    collect(*pool, 1);  // the builder runs
    ask(*pool, 1, "slow");
    pool->poll(milliseconds(100)).ok();  // it builds
    char one = 1;
    if (::write(ready[1], &one, 1) < 0) ::_exit(3);
    const auto built = collect(*pool, 1);
    ::_exit(built.size() == 1 && built.at(1).body.AsBuildOutput() ? 0 : 1);
  }
  ::close(ready[1]);
  char one = 0;
  ASSERT_EQ(::read(ready[0], &one, 1), 1);
  ::close(ready[0]);
  ASSERT_EQ(::kill(-host, SIGSTOP), 0);
  ::usleep(2'200'000);
  ASSERT_EQ(::kill(-host, SIGCONT), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(host, &status, 0), host);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

TEST(BuildPool, DiesWithItsParent) {
  int pids[2];
  ASSERT_EQ(::pipe(pids), 0);
  const pid_t middle = ::fork();
  if (middle == 0) {  // a host process that is killed while a builder hangs
    auto pool = start({}, 1);
    ask(*pool, 1, "hang");
    pool->poll(milliseconds(100)).ok();
    std::string text;
    for (const char* path : {"/proc/self/task"}) {
      DIR* tasks = ::opendir(path);
      while (const dirent* task = ::readdir(tasks)) {
        if (task->d_name[0] == '.') continue;
        const std::string file = std::string(path) + "/" + task->d_name + "/children";
        if (FILE* children = std::fopen(file.c_str(), "r")) {
          for (long pid; std::fscanf(children, "%ld", &pid) == 1;) {
            const int builder = static_cast<int>(pid);
            if (::write(pids[1], &builder, sizeof builder) < 0) ::_exit(1);
          }
          std::fclose(children);
        }
      }
    }
    ::raise(SIGKILL);
  }
  ::close(pids[1]);
  ::waitpid(middle, nullptr, 0);
  int builder = 0;
  ASSERT_EQ(::read(pids[0], &builder, sizeof builder), static_cast<ssize_t>(sizeof builder));
  ::close(pids[0]);
  // Reparented and reaped by init, or a zombie of it: gone or 'Z', not running.
  char state = '?';
  for (int i = 0; i < 200; ++i) {
    FILE* file = std::fopen(("/proc/" + std::to_string(builder) + "/stat").c_str(), "r");
    if (!file) {
      state = 'X';
      break;
    }
    if (std::fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = '?';
    std::fclose(file);
    if (state == 'Z' || state == 'X') break;
    ::usleep(10'000);
  }
  EXPECT_TRUE(state == 'Z' || state == 'X') << "builder " << builder << " is in state " << state;
}

}  // namespace
}  // namespace fettle::fleet
