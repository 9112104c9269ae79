// What a worker is doing and what killed it: one shared page, written by the
// worker (and its signal handlers), read by the supervisor. It tells deadlines what
// was used of them and names the cause of a death, so every field is a lock-free atomic
// or is written once, before `fault_kind`. A candidate can write it too: nothing here
// is more than a hint.
#pragma once

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <atomic>
#include <cstdint>

namespace fettle::agent {

enum class WorkerPhase : std::uint32_t { Idle, Load, Warmup, Run, Check };

enum class FaultKind : std::uint32_t {
  None,
  Access,      // SIGSEGV or SIGBUS
  Illegal,     // SIGILL
  Arithmetic,  // SIGFPE
  SystemCall,  // SIGSYS: the sandbox forbids it
  Abort        // SIGABRT
};

// What the faulting address belongs to.
enum class FaultPlace : std::uint32_t {
  Unmapped,
  BeforeBuffer,
  BehindBuffer,
  ReadOnlyBuffer,
  Code,
  Stack  // beyond the end of the thread's stack
};

enum class AccessKind : std::uint32_t { Unknown, Read, Write, Execute };

struct StatusPage {
  std::atomic<std::uint64_t> ticket;  // of the trial being worked on; 0: none
  std::atomic<WorkerPhase> phase;
  std::atomic<std::uint64_t> phase_since;  // CLOCK_MONOTONIC, ns
  std::atomic<std::uint64_t> run_ns;       // inside the candidate, of this trial, ended runs
  std::atomic<std::uint64_t> run_since;    // start of the run now going on; 0: none

  // The death note.
  std::atomic<FaultKind> fault_kind;
  std::uint32_t in_candidate;  // candidate code was running
  std::int32_t signal;
  std::uint64_t address;  // of the access
  std::uint64_t program_counter;
  std::uint32_t system_call;
  AccessKind access;
  FaultPlace place;
  std::uint64_t distance;  // bytes from the buffer's edge
  char buffer[64];         // its name
  char role[16];
  std::uint64_t address_space_bytes;   // of the worker when it died
  std::uint64_t address_space_limit;   // 0: none in force; then the next one means nothing
  std::uint64_t address_space_before;  // before the candidate ran; 0: not known

  void enter(WorkerPhase next) {
    phase_since.store(monotonic_ns(), std::memory_order_relaxed);
    phase.store(next, std::memory_order_release);
  }

  // The page in that memory file, mapped; the descriptor is closed. Null: it cannot be.
  static StatusPage* map(int memory) {
    void* at = mmap(nullptr, sizeof(StatusPage), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    close(memory);
    return at == MAP_FAILED ? nullptr : static_cast<StatusPage*>(at);
  }

  static std::uint64_t monotonic_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(now.tv_nsec);
  }
};
static_assert(sizeof(StatusPage) <= 4096);

// Marks one run of the candidate for the supervisor's deadline; phase stays.
class RunMark {
 public:
  explicit RunMark(StatusPage& page) : page_(page), start_(StatusPage::monotonic_ns()) {
    page_.run_since.store(start_, std::memory_order_release);
  }
  // In this order, as whoever reads run_ns first, then run_since, counts no run twice.
  ~RunMark() {
    const std::uint64_t took = StatusPage::monotonic_ns() - start_;
    page_.run_since.store(0, std::memory_order_release);
    page_.run_ns.fetch_add(took, std::memory_order_release);
  }
  RunMark(const RunMark&) = delete;
  RunMark& operator=(const RunMark&) = delete;

 private:
  StatusPage& page_;
  std::uint64_t start_;
};

}  // namespace fettle::agent
