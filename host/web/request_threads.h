// Threads of an HTTP server, one for each connection that is served.
#pragma once

#include <httplib.h>

#include <functional>
#include <semaphore>

namespace fettle::web {

// Beyond those that are served and one that waits, connections stay with the system, whose queue
// is short: httplib's own queue would take connections until no descriptor is left.
class RequestThreads final : public httplib::TaskQueue {
 public:
  explicit RequestThreads(std::size_t threads)
      : free_(static_cast<std::ptrdiff_t>(threads)), pool_(threads) {}

  // Waits for a free thread; whoever ends the server ends connections, too.
  void enqueue(std::function<void()> serve) override {
    free_.acquire();
    pool_.enqueue([this, serve = std::move(serve)] {
      serve();
      free_.release();
    });
  }
  void shutdown() override { pool_.shutdown(); }

 private:
  std::counting_semaphore<> free_;
  httplib::ThreadPool pool_;
};

}  // namespace fettle::web
