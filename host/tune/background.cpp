// Background (background.h).
#include "host/tune/background.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <utility>

namespace fettle::tune {

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    jobs_.clear();
  }
  wake_.notify_all();
  thread_.join();
}

void Background::post(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
}

bool Background::idle() const {
  const std::lock_guard lock(mutex_);
  return !busy_ && jobs_.empty();
}

void Background::keep_to(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  pthread_setaffinity_np(thread_.native_handle(), sizeof set, &set);
}

void Background::run() {
  // Plans can wait, builds cannot: they share the cores that the board leaves free. On
  // Linux this is the calling thread's niceness.
  setpriority(PRIO_PROCESS, 0, 19);
  for (;;) {
    std::function<void()> job;
    {
      std::unique_lock lock(mutex_);
      busy_ = false;
      wake_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
      if (stop_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
      busy_ = true;
    }
    job();
  }
}

}  // namespace fettle::tune
