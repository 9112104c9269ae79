// The measuring threads: who runs, that launches do not overlap, and, under
// ThreadSanitizer, that what one launch wrote may be read by the next.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <fstream>

#include "runtime/cpu/thread_pool.h"

namespace fettle::runtime {
namespace {

TEST(ThreadPool, RunsAJobOnceOnEachOfTheFirstThreads) {
  ThreadPool pool({}, 3);
  ASSERT_EQ(pool.size(), 3u);
  for (std::uint32_t threads = 1; threads <= 4; ++threads) {
    std::vector<int> runs(8, 0);
    pool.run(
        threads,
        [](void* context, std::uint32_t thread) {
          ++(*static_cast<std::vector<int>*>(context))[thread];
        },
        &runs);
    for (std::uint32_t i = 0; i < runs.size(); ++i) {
      EXPECT_EQ(runs[i], i < std::min(threads, 3u) ? 1 : 0) << threads << " threads, " << i;
    }
  }
}

#ifndef __SANITIZE_THREAD__  // which refuses threads in a child of a process that had some
// As Python's multiprocessing makes children.
TEST(ThreadPool, RunsInAChildToo) {
  ThreadPool pool({}, 3);
  const auto ran_right = [&pool] {
    std::vector<int> runs(3, 0);
    for (int round = 1; round <= 20; ++round) {
      pool.run(
          3,
          [](void* context, std::uint32_t thread) {
            ++(*static_cast<std::vector<int>*>(context))[thread];
          },
          &runs);
      if (runs != std::vector<int>(3, round)) return false;
    }
    return true;
  };
  EXPECT_TRUE(ran_right());
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // it would wait for threads that are not there
    _exit(ran_right() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(ran_right()) << "and the parent's are its own";
}

// In a child that gets no other threads; of a user, where root would get them all the same.
void allow_no_threads() {
  if (geteuid() == 0 && setuid(65534) != 0) _exit(4);
  const rlimit one{1, 1};
  if (setrlimit(RLIMIT_NPROC, &one) != 0) _exit(3);
}

// Whoever divides work has to know of it: the others' parts would not be done.
TEST(ThreadPool, AChildThatGetsNoThreadsSaysSo) {
  ThreadPool pool({}, 3);
  EXPECT_EQ(pool.ready(2), 2u);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    allow_no_threads();
    std::uint32_t ran = 0;
    pool.run(
        3, [](void* context, std::uint32_t) { ++*static_cast<std::uint32_t*>(context); }, &ran);
    _exit(pool.ready(3) == 1 && ran == 1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(pool.ready(4), 3u);
}
#endif

// An application's handlers run on its own threads; a fault is told on the thread that made it.
TEST(ThreadPool, TheApplicationsSignalsAreNotItsThreads) {
  sigset_t before, after;
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  ThreadPool pool({}, 3);
  pthread_sigmask(SIG_BLOCK, nullptr, &after);
  for (int signal = 1; signal < 32; ++signal) {
    EXPECT_EQ(sigismember(&after, signal), sigismember(&before, signal)) << signal;
  }
  std::vector<sigset_t> masks(3);
  pool.run(
      3,
      [](void* context, std::uint32_t thread) {
        pthread_sigmask(SIG_BLOCK, nullptr,
                        &(*static_cast<std::vector<sigset_t>*>(context))[thread]);
      },
      &masks);
  for (const std::size_t thread : {1, 2}) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGCHLD, SIGUSR1}) {
      EXPECT_EQ(sigismember(&masks[thread], signal), 1) << signal;
    }
    for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGABRT}) {
      EXPECT_EQ(sigismember(&masks[thread], fault), 0) << fault;
    }
  }
}

#ifndef __SANITIZE_THREAD__  // which keeps memory of threads that have ended
std::size_t address_space_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// As a program does that loads networks and frees them.
TEST(ThreadPool, LeavesNothingBehind) {
  for (int i = 0; i < 20; ++i) ThreadPool({}, 3);  // libc keeps some stacks for later
  const std::size_t before = address_space_bytes();
  for (int i = 0; i < 200; ++i) ThreadPool({}, 3);
  EXPECT_LT(address_space_bytes(), before + (std::size_t{8} << 20));
}
#endif

// Every thread reads what its neighbour wrote before the barrier.
struct Relay {
  explicit Relay(ThreadPool& p) : pool(p) {}
  ThreadPool& pool;
  std::uint32_t threads = 0;
  int rounds = 0;
  std::vector<int> cells[2];
  std::vector<int> wrong;
};

void relay(void* context, std::uint32_t thread) {
  auto& r = *static_cast<Relay*>(context);
  for (int round = 0; round < r.rounds; ++round) {
    const std::vector<int>& from = r.cells[round % 2];
    std::vector<int>& to = r.cells[(round + 1) % 2];
    const int seen = from[(thread + 1) % r.threads];
    r.wrong[thread] += seen != round;
    to[thread] = round + 1;
    r.pool.barrier().arrive_and_wait();
  }
}

void expect_relay(ThreadPool& pool, std::uint32_t threads) {
  Relay r(pool);
  r.threads = threads;
  r.rounds = 400;
  r.cells[0].assign(threads, 0);
  r.cells[1].assign(threads, 0);
  r.wrong.assign(threads, 0);
  for (int i = 0; i < 8; ++i) {
    pool.run(threads, relay, &r);
    for (std::uint32_t t = 0; t < threads; ++t) EXPECT_EQ(r.wrong[t], 0) << "thread " << t;
    EXPECT_EQ(r.cells[0][0], r.rounds);
    r.cells[0].assign(threads, 0);
    r.rounds = 2 + 2 * i;  // even: the last round writes cells[0]
  }
}

TEST(ThreadPool, TheBarrierOrdersLaunches) {
  ThreadPool pool({0, 1}, 2);  // spins first
  expect_relay(pool, 2);
}

TEST(ThreadPool, SleepsInTheKernelWhenThreadsShareACore) {
  ThreadPool pool({0}, 4);  // never spins
  expect_relay(pool, 4);
  expect_relay(pool, 2);
}

}  // namespace
}  // namespace fettle::runtime
