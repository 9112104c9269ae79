// Pinned threads (thread_pool.h).
#include "runtime/cpu/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <csignal>

namespace fettle::runtime {
namespace {

// About 20 to 50 us: longer than the gap between launches, shorter than a time slice.
constexpr int kSpins = 4000;
constexpr std::size_t kStackBytes = std::size_t{2} << 20;

inline void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("yield" ::: "memory");
#endif
}

// Returns when `word` is no longer `old`.
void wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t old, bool spin) {
  if (spin) {
    for (int i = 0; i < kSpins; ++i) {
      if (word.load(std::memory_order_acquire) != old) return;
      pause_cpu();
    }
  }
  while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
}

std::size_t usable_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<std::size_t>(CPU_COUNT(&set))
                                                     : 1;
}

// How many fork() have made children that led to this process, since the first pool was there.
std::atomic<std::uint32_t> forks{0};
void count_forks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
}

// All but those that a fault of the thread itself raises: whoever handles them must see that one.
sigset_t others_signals() {
  sigset_t set;
  sigfillset(&set);
  for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGABRT, SIGTRAP}) {
    sigdelset(&set, fault);
  }
  return set;
}

// A stack for signal handlers as long as a thread runs: they tell of its own stack's overflow.
class SignalStack {
 public:
  SignalStack() {
    void* const memory =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = kBytes;
    if (sigaltstack(&stack, &before_) == 0) {
      memory_ = memory;
    } else {
      munmap(memory, kBytes);
    }
  }
  ~SignalStack() {
    if (memory_ == nullptr) return;
    sigaltstack(&before_, nullptr);
    munmap(memory_, kBytes);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  static constexpr std::size_t kBytes = 65536;
  void* memory_ = nullptr;
  stack_t before_{};  // none, but a sanitizer's
};

void pin(std::uint32_t core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

void Barrier::arrive_and_wait() {
  const std::uint32_t round = round_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    arrived_.store(0, std::memory_order_relaxed);
    round_.store(round + 1, std::memory_order_release);
    round_.notify_all();
    return;
  }
  wait_while(round_, round, spin_);
}

ThreadPool::ThreadPool(const std::vector<std::uint32_t>& cores, std::uint32_t count)
    : cores_(cores),
      count_(count == 0 ? 1 : count),
      spin_(count <= (cores.empty() ? usable_cores() : cores.size())),
      barrier_(spin_) {
  if (count_ > 1) count_forks();
  if (!cores.empty()) pin(cores.front());
  start();
}

void ThreadPool::start() {
  forks_ = forks.load(std::memory_order_relaxed);
  starts_.resize(count_);
  // Threads begin with their maker's mask: the application's signals are for its own.
  const sigset_t others = others_signals();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &others, &before);
  for (std::uint32_t thread = 1; thread < count_; ++thread) {
    starts_[thread] = {this, thread};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    if (!cores_.empty()) {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(cores_[thread % cores_.size()], &set);
      pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
    }
    auto main = [](void* start) -> void* {
      auto* at = static_cast<Start*>(start);
      at->pool->work(at->thread);
      return nullptr;
    };
    pthread_t handle;
    int failed = pthread_create(&handle, &attributes, main, &starts_[thread]);
    pthread_attr_destroy(&attributes);
    if (failed) failed = pthread_create(&handle, nullptr, main, &starts_[thread]);  // unpinned
    if (failed) {
      count_ = thread;
      break;
    }
    threads_.push_back(handle);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  // The caller's sandbox may forbid what a thread does while it starts.
  running_.store(count_ - 1);
  started_.store(true, std::memory_order_release);
  started_.notify_all();
  for (std::uint32_t left; (left = running_.load(std::memory_order_acquire)) != 0;) {
    wait_while(running_, left, spin_);
  }
}

ThreadPool::~ThreadPool() {
  if (forks_ != forks.load(std::memory_order_relaxed)) return;  // its threads are the parent's
  stop_.store(true);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (pthread_t handle : threads_) pthread_join(handle, nullptr);
}

std::uint32_t ThreadPool::ready(std::uint32_t threads) {
  if (threads > 1 && forks_ != forks.load(std::memory_order_relaxed)) {
    threads_.clear();
    started_.store(false), generation_.store(0);
    start();
  }
  return threads > count_ ? count_ : threads;
}

void ThreadPool::run(std::uint32_t threads, void (*job)(void*, std::uint32_t), void* context) {
  threads = ready(threads);
  barrier_.reset(threads);
  if (threads <= 1) {
    job(context, 0);
    return;
  }
  active_ = threads;
  job_ = job;
  context_ = context;
  running_.store(count_ - 1, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  job(context, 0);
  // Every pool thread acknowledges the job, also those without a share: active_ and
  // job_ may then change again.
  for (std::uint32_t left; (left = running_.load(std::memory_order_acquire)) != 0;) {
    wait_while(running_, left, spin_);
  }
}

void ThreadPool::work(std::uint32_t thread) {
  const SignalStack signal_stack;
  started_.wait(false, std::memory_order_acquire);
  if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_all();
  std::uint32_t seen = 0;
  while (true) {
    wait_while(generation_, seen, spin_);
    seen = generation_.load(std::memory_order_acquire);
    if (stop_.load()) return;
    if (thread < active_) job_(context_, thread);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_all();
  }
}

}  // namespace fettle::runtime
