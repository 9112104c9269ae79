// The measuring threads of one CPU device: pinned, started once, waiting by
// spinning a little and then in the kernel. Thread 0 is the caller.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace fettle::runtime {

// All threads meet; the last to arrive lets the others go.
class Barrier {
 public:
  explicit Barrier(bool spin) : spin_(spin) {}
  void reset(std::uint32_t threads) { threads_ = threads; }
  void arrive_and_wait();

 private:
  std::uint32_t threads_ = 1;
  bool spin_;
  std::atomic<std::uint32_t> arrived_{0}, round_{0};
};

class ThreadPool {
 public:
  // One thread per entry of cores, pinned to it; pinning that the kernel refuses
  // is left out. `count` may exceed the cores: they are then shared, without spinning.
  // No cores: no thread is pinned, and all that this process may use are theirs. The caller, which
  // is pinned to the first, stays so. The others take no signals but those of their own faults.
  ThreadPool(const std::vector<std::uint32_t>& cores, std::uint32_t count);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::uint32_t size() const { return count_; }
  Barrier& barrier() { return barrier_; }
  // How many of so many threads there are. In a child of fork(), which has none of its parent's,
  // new ones are made, and the system may refuse some.
  std::uint32_t ready(std::uint32_t threads);
  // job(context, thread) on threads [0, ready(threads)); returns when all have ended.
  void run(std::uint32_t threads, void (*job)(void*, std::uint32_t), void* context);

 private:
  void start();
  void work(std::uint32_t thread);

  std::vector<std::uint32_t> cores_;
  std::uint32_t count_;
  bool spin_;
  std::uint32_t forks_;  // before its threads were made
  Barrier barrier_;
  std::atomic<std::uint32_t> generation_{0}, running_{0};
  std::atomic<bool> started_{false}, stop_{false};
  std::uint32_t active_ = 0;
  void (*job_)(void*, std::uint32_t) = nullptr;
  void* context_ = nullptr;
  std::vector<pthread_t> threads_;
  struct Start {
    ThreadPool* pool;
    std::uint32_t thread;
  };
  std::vector<Start> starts_;
};

}  // namespace fettle::runtime
