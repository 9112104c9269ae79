// Background: one thread that does jobs in their order, so that the loop never waits
// for a model to be trained. It gives way to the build workers.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace fettle::tune {

class Background {
 public:
  Background() : thread_([this] { run(); }) {}
  // Waits for the job in hand; those not begun are dropped.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void post(std::function<void()> job);
  // Nothing is being done or waits: what can wait may be posted.
  bool idle() const;
  // Where the thread may run from now on. Failing to move it is no error.
  void keep_to(const std::vector<int>& cores);

 private:
  void run();

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool busy_ = false, stop_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace fettle::tune
