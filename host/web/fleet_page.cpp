// FleetPage (fleet_page.h).
#include "host/web/fleet_page.h"

#include <nlohmann/json.hpp>

#include "host/fleet/broker_status.h"
#include "host/web/event_text.h"
#include "host/web/fleet_history.h"

namespace fettle::web {
namespace {

constexpr std::size_t kMostEnded = 65'536;  // trials that wait for the thread

}  // namespace

FleetPage::FleetPage(LiveServer& server) : server_(server), thread_([this] { run(); }) {}

FleetPage::~FleetPage() {
  {
    const std::lock_guard hold(mutex_);
    stopping_ = true;
  }
  news_.notify_all();
  thread_.join();
}

void FleetPage::see(fleet::FleetView view) {
  {
    const std::lock_guard hold(mutex_);
    if (view_ && view_->ended.size() + view.ended.size() <= kMostEnded) {
      view.ended.insert(view.ended.begin(), std::make_move_iterator(view_->ended.begin()),
                        std::make_move_iterator(view_->ended.end()));
    }
    view_ = std::make_unique<fleet::FleetView>(std::move(view));
  }
  news_.notify_all();
}

void FleetPage::run() {
  FleetHistory history;
  bool told = true;  // of all that the history knows
  for (;;) {
    std::unique_ptr<fleet::FleetView> view;
    {
      std::unique_lock hold(mutex_);
      // Whoever comes to look is not told of here.
      news_.wait_for(hold, std::chrono::milliseconds(100), [&] { return stopping_ || view_; });
      if (stopping_) return;
      view = std::move(view_);
    }
    if (view) {
      history.add(*view);
      server_.publish_metrics(fleet::to_prometheus(view->status));
      told = false;
    }
    if (told || !looks()) continue;
    server_.publish(event_text(history.page()));
    told = true;
  }
}

}  // namespace fettle::web
