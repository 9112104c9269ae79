// A broker's live page: what its loop shows becomes events of a LiveServer, on a thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "host/fleet/fleet_view.h"
#include "host/web/live_server.h"

namespace fettle::web {

class FleetPage final : public fleet::FleetWatcher {
 public:
  // `server` outlives it.
  explicit FleetPage(LiveServer& server);
  ~FleetPage() override;

  bool looks() const override { return server_.streams() > 0; }
  void see(fleet::FleetView view) override;

 private:
  void run();

  LiveServer& server_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::unique_ptr<fleet::FleetView> view_;  // the newest that the thread has not taken
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace fettle::web
