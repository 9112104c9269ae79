// The sandbox, the nursery, passing of blobs and the blob store, with real processes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "agent/measure/status_page.h"
#include "agent/sandbox/file_access.h"
#include "agent/sandbox/sandbox.h"
#include "agent/server/blob_store.h"
#include "agent/worker/nursery.h"
#include "runtime/cpu/code_memory.h"
#include "tests/support/kernel_sandbox.h"

namespace fettle::agent {
namespace {

// Wait status of a child that enters the sandbox and does `work`; its exit status
// is what work returns. 99: it does not say that the wanted level holds.
int sandboxed(wire::Sandbox wanted, int (*work)()) {
  const pid_t pid = fork();
  if (pid == 0) {
    SandboxPolicy policy;
    policy.extra_memory_bytes = std::uint64_t{64} << 20;
    policy.calls = wanted == wire::Sandbox::Strict ? SystemCalls::Listed : SystemCalls::Driver;
    const auto arena = runtime::reserve_code_arena();
    if (!arena) _exit(98);
    SandboxSurroundings surroundings;
    surroundings.code = {arena->begin, arena->end};
    surroundings.files_in_reach = confine_files({});
    if (enter_sandbox(policy, surroundings).level != wanted) _exit(99);
    syscall(SYS_exit_group, work());
  }
  int status;
  waitpid(pid, &status, 0);
  return status;
}

// Of this program's first page.
std::uintptr_t own_begin() {
  std::uintptr_t begin = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        *static_cast<std::uintptr_t*>(to) = info->dlpi_addr & ~std::uintptr_t{4095};
        return 1;
      },
      &begin);
  return begin;
}

TEST(Sandbox, MemoryIsBounded) {
  if (const auto why = test::why_not_strict(); !why.empty()) GTEST_SKIP() << why;
  const int status = sandboxed(wire::Sandbox::Driver, [] {
    void* small = mmap(nullptr, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void* large = mmap(nullptr, 128 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return small != MAP_FAILED && large == MAP_FAILED ? 7 : 1;
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

// What a GPU's driver may do and what it may not; a refusal is an error, no death.
TEST(Sandbox, DriversMayOpenAndThreadButNotFork) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer allows no threads in a forked child";
#endif
  if (const auto why = test::why_no_call_filter(); !why.empty()) GTEST_SKIP() << why;
  const int status = sandboxed(wire::Sandbox::Driver, [] {
    int done = 0;
    std::thread([&] { done = 1; }).join();
    const bool may = done == 1 && open("/proc/self/stat", O_RDONLY) >= 0 &&
                     syscall(SYS_tgkill, getpid(), getpid(), 0) == 0;
    const bool may_not = fork() == -1 && syscall(SYS_execve, "/bin/true", nullptr, nullptr) == -1 &&
                         socket(AF_INET, SOCK_STREAM, 0) == -1 && kill(1, 0) == -1 &&
                         syscall(SYS_tgkill, 1, 1, 0) == -1 && mkdir("/tmp/of_a_driver", 0) == -1 &&
                         errno == EPERM;
    return may ? (may_not ? 7 : 2) : 3;
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(Sandbox, StrictForbidsFilesNetworkAndProcesses) {
  if (const auto why = test::why_not_strict(); !why.empty()) GTEST_SKIP() << why;
  int (*const forbidden[])() = {
      [] { return static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/etc/passwd", 0)); },
      [] { return static_cast<int>(syscall(SYS_socket, AF_INET, SOCK_STREAM, 0)); },
      [] { return static_cast<int>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); },
      [] { return static_cast<int>(syscall(SYS_execve, "/bin/true", nullptr, nullptr)); },
      // Signal 0 is harmless where it is let through.
      [] { return static_cast<int>(syscall(SYS_kill, 1, 0)); },
      [] { return static_cast<int>(syscall(SYS_tgkill, 1, 1, 0)); },
      [] { return fcntl(0, F_SETOWN, 0); }, [] { return fcntl(0, F_SETSIG, 0); },
      [] { return ioctl(0, 0x8901 /* FIOSETOWN */, nullptr); },
      [] { return static_cast<int>(syscall(SYS_prlimit64, 1, RLIMIT_CPU, nullptr, nullptr)); },
      [] { return static_cast<int>(syscall(SYS_sched_setaffinity, 1, 0, nullptr)); },
      [] { return setpriority(PRIO_PROCESS, 1, 0); },
      [] { return truncate("/tmp/of_a_candidate", 0); },
      [] { return static_cast<int>(syscall(SYS_madvise, nullptr, 0, 100 /* MADV_HWPOISON */)); },
      [] {
        return mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                    -1, 0) == MAP_FAILED
                   ? 1
                   : 0;
      },
      [] {
        void* data =
            mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return mprotect(data, 4096, PROT_READ | PROT_EXEC);
      },
      [] {
        // From within the arena over its end, and what is reserved behind it, into what follows.
        const auto arena = runtime::code_arena();
        return mprotect(reinterpret_cast<void*>(arena.end - 4096),
                        2 * runtime::kCodeArenaBytes + 8192, PROT_READ | PROT_EXEC);
      },
      [] {
        const auto own = reinterpret_cast<std::uintptr_t>(&own_begin) & ~std::uintptr_t{4095};
        return mprotect(reinterpret_cast<void*>(own), 4096, PROT_READ | PROT_WRITE);
      },
      [] {
        // It begins before the program, and would reach into it.
        return mprotect(reinterpret_cast<void*>(own_begin() - 4096), 8192, PROT_READ | PROT_WRITE);
      }};
  for (auto* work : forbidden) {
    const int status = sandboxed(wire::Sandbox::Strict, work);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGSYS);
  }
}

TEST(Sandbox, StrictAllowsWhatAWorkerDoes) {
  if (const auto why = test::why_not_strict(); !why.empty()) GTEST_SKIP() << why;
  const int status = sandboxed(wire::Sandbox::Strict, [] {
    void* memory =
        mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, 4096, PROT_NONE) != 0 ||
        mprotect(memory, 4096, PROT_READ | PROT_WRITE) != 0) {
      return 1;
    }
    std::uint8_t* code = runtime::take_code_memory(8192);
    if (code == nullptr || mprotect(code, 8192, PROT_READ | PROT_EXEC) != 0) return 4;
    runtime::give_back_code_memory(code, 8192);
    if (runtime::take_code_memory(4096) != code) return 5;
    void* heap = malloc(3 << 20);
    free(heap);
    timespec now;
    if (clock_gettime(CLOCK_MONOTONIC_RAW, &now) != 0) return 2;
    if (syscall(SYS_tgkill, getpid(), gettid(), 0) != 0) return 3;
    return 7;
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(Sandbox, AnAbortIsStillAnAbort) {
  if (const auto why = test::why_not_strict(); !why.empty()) GTEST_SKIP() << why;
  const int status = sandboxed(wire::Sandbox::Strict, []() -> int { std::abort(); });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGABRT);
}

TEST(Sandbox, NamesSystemCalls) {
  EXPECT_STREQ(system_call_name(SYS_openat), "openat");
  EXPECT_STREQ(system_call_name(99999), "");
}

struct Channel {
  int ours = -1, theirs = -1, memory = -1;
  StatusPage* page = nullptr;
  Channel() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ours = ends[0];
    theirs = ends[1];
    memory = memfd_create("page", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(memory, sizeof(StatusPage)), 0);
    page = static_cast<StatusPage*>(
        mmap(nullptr, sizeof(StatusPage), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0));
  }
  ~Channel() {
    munmap(page, sizeof(StatusPage));
    for (int fd : {ours, theirs, memory}) {
      if (fd >= 0) close(fd);
    }
  }
  void start(Nursery& nursery, std::uint64_t serial, std::uint32_t device) {
    EXPECT_TRUE(nursery.start_worker(serial, device, theirs, memory).ok());
    close(theirs);
    theirs = -1;
  }
};

NurseryEvent wait_event(Nursery& nursery) {
  pollfd watched{nursery.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&watched, 1, 10'000), 1);
  auto event = nursery.next_event();
  EXPECT_TRUE(event.ok() && event->has_value());
  return event.ok() && *event ? **event : NurseryEvent{};
}

TEST(NurseryTest, StartsReportsAndReaps) {
  auto nursery = Nursery::start([](std::uint32_t device, int socket, int status_memory) {
    StatusPage::map(status_memory)->ticket.store(4242);
    char byte;
    return read(socket, &byte, 1) == 1 ? static_cast<int>(device) + byte : 1;
  });
  ASSERT_TRUE(nursery.ok());
  Channel channel;
  channel.start(*nursery, 11, 5);
  const auto started = wait_event(*nursery);
  EXPECT_EQ(started.kind, NurseryEvent::Kind::Started);
  EXPECT_EQ(started.serial, 11u);
  ASSERT_EQ(write(channel.ours, "\x02", 1), 1);
  const auto ended = wait_event(*nursery);
  EXPECT_EQ(ended.kind, NurseryEvent::Kind::Exited);
  EXPECT_EQ(ended.pid, started.pid);
  ASSERT_TRUE(WIFEXITED(ended.wait_status));
  EXPECT_EQ(WEXITSTATUS(ended.wait_status), 7);
  EXPECT_EQ(channel.page->ticket.load(), 4242u);
}

TEST(NurseryTest, KillsAStuckWorker) {
  auto nursery = Nursery::start([](std::uint32_t, int, int) {
    while (true) pause();
    return 0;
  });
  ASSERT_TRUE(nursery.ok());
  Channel channel;
  channel.start(*nursery, 1, 0);
  wait_event(*nursery);
  nursery->kill_worker(1);
  const auto ended = wait_event(*nursery);
  ASSERT_TRUE(WIFSIGNALED(ended.wait_status));
  EXPECT_EQ(WTERMSIG(ended.wait_status), SIGKILL);
  nursery->kill_worker(1);  // again: nothing happens
}

// The last holder of the other end gone is the end of the worker.
TEST(NurseryTest, WorkersDieWithTheSupervisor) {
  Channel channel;
  const pid_t supervisor = fork();
  if (supervisor == 0) {
    auto nursery = Nursery::start([](std::uint32_t, int, int status_memory) {
      StatusPage::map(status_memory)->ticket.store(1);
      while (true) pause();
      return 0;
    });
    if (!nursery || !nursery->start_worker(1, 0, channel.theirs, channel.memory)) _exit(1);
    while (channel.page->ticket.load() == 0) usleep(1000);
    kill(getpid(), SIGKILL);
  }
  close(channel.theirs);
  channel.theirs = -1;
  int status;
  waitpid(supervisor, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  pollfd watched{channel.ours, POLLIN, 0};
  ASSERT_EQ(poll(&watched, 1, 10'000), 1) << "the worker still lives";
  char byte;
  EXPECT_EQ(read(channel.ours, &byte, 1), 0);
}

TEST(RequestLink, PassesRequestAndBlobs) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  BlobStore store(1 << 20);
  const Bytes first(1000, 1), second(5000, 2), request(70'000, 3);
  for (const Bytes& blob : {first, second}) ASSERT_TRUE(store.put(content_hash(blob), blob).ok());
  const PassedBlob blobs[] = {*store.find(content_hash(first)), *store.find(content_hash(second))};
  ASSERT_TRUE(send_request(ends[0], 99, request, blobs).ok());
  auto got = receive_request(ends[1]);
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_EQ(got->ticket, 99u);
  EXPECT_EQ(got->request, request);
  ASSERT_EQ(got->blobs.size(), 2u);
  EXPECT_EQ(got->blobs[1].bytes, 5000u);
  Bytes read_back(5000);
  ASSERT_EQ(pread(got->blobs[1].fd.get(), read_back.data(), 5000, 0), 5000);
  EXPECT_EQ(read_back, second);
  EXPECT_LT(pwrite(got->blobs[1].fd.get(), "x", 1, 0), 0) << "a passed blob must be sealed";
  EXPECT_NE(ftruncate(got->blobs[1].fd.get(), 0), 0);
  close(ends[0]);
  EXPECT_EQ(receive_request(ends[1]).error().code, ErrorCode::Unreachable);
  close(ends[1]);
}

TEST(BlobStoreTest, VerifiesAndStaysInItsBound) {
  BlobStore store(3000);
  const Bytes a(1000, 1), b(1000, 2), c(1000, 3), d(1000, 4);
  EXPECT_EQ(store.put(content_hash(a), b).error().code, ErrorCode::Malformed);
  for (const Bytes& blob : {a, b, c}) ASSERT_TRUE(store.put(content_hash(blob), blob).ok());
  EXPECT_TRUE(store.find(content_hash(a)));  // used: b is now the oldest
  ASSERT_TRUE(store.put(content_hash(d), d).ok());
  EXPECT_TRUE(store.holds(content_hash(a)));
  EXPECT_FALSE(store.holds(content_hash(b)));
  EXPECT_LE(store.held_bytes(), 3000u);
  const Bytes big(3001, 5);
  EXPECT_EQ(store.put(content_hash(big), big).error().code, ErrorCode::TooLarge);
}

TEST(BlobStoreTest, PutsPiecesTogether) {
  BlobStore store(std::uint64_t{3} << 20);
  const Bytes blob((5 << 19) + 1, 7), large((3 << 20) + 1, 8);
  std::vector<wire::PutBlobT> pieces, too_large;
  for_each_piece(content_hash(blob), blob, [&](wire::PutBlobT p) { pieces.push_back(p); });
  for_each_piece(content_hash(large), large, [&](wire::PutBlobT p) { too_large.push_back(p); });
  ASSERT_EQ(pieces.size(), 3u);

  EXPECT_FALSE(store.put_piece(pieces[0]).value());
  const auto skipped = store.put_piece(pieces[2]);
  ASSERT_FALSE(skipped.ok());
  EXPECT_EQ(skipped.error().code, ErrorCode::Malformed);
  EXPECT_FALSE(store.put_piece(pieces[1]).ok()) << "it must begin again";

  EXPECT_EQ(store.put_piece(too_large[0]).error().code, ErrorCode::TooLarge);
  for (std::size_t i = 1; i < too_large.size(); ++i) {
    const auto passed_over = store.put_piece(too_large[i]);
    ASSERT_TRUE(passed_over.ok()) << "said once";
    EXPECT_FALSE(*passed_over);
  }
  EXPECT_FALSE(store.holds(content_hash(large)));

  EXPECT_FALSE(store.put_piece(pieces[0]).value());
  EXPECT_FALSE(store.put_piece(pieces[1]).value());
  EXPECT_TRUE(store.put_piece(pieces[2]).value());
  EXPECT_TRUE(store.holds(content_hash(blob)));

  auto forged = pieces;
  forged[1].bytes[0] ^= 1;
  for (auto& piece : forged) piece.hash = std::make_unique<wire::Hash>(content_hash(large));
  (void)store.put_piece(forged[0]);
  (void)store.put_piece(forged[1]);
  EXPECT_EQ(store.put_piece(forged[2]).error().code, ErrorCode::Malformed);
}

// Each blob costs a descriptor, and a service has 1,024 of them.
TEST(BlobStoreTest, ManySmallBlobsLeaveDescriptorsForTheRest) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit usual{std::min<rlim_t>(1024, before.rlim_max), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
  BlobStore store(1 << 20);
  for (int i = 0; i < 1200; ++i) {
    Bytes blob(16);
    std::memcpy(blob.data(), &i, sizeof i);
    const auto put = store.put(content_hash(blob), blob);
    ASSERT_TRUE(put.ok()) << "blob " << i << ": " << put.error().text();
    EXPECT_TRUE(store.holds(content_hash(blob)));
  }
  EXPECT_GE(store.held_bytes() / 16, kMostPassedBlobs) << "all of one request must fit";
  std::vector<OwnedFd> others;
  for (int i = 0; i < 300; ++i) others.emplace_back(dup(STDERR_FILENO));
  EXPECT_TRUE(others.back()) << "too few descriptors are left";
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace fettle::agent
