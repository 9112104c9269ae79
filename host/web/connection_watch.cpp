// A look a second, or more often where connections live shorter (connection_watch.h).
#include "host/web/connection_watch.h"

#include <algorithm>

namespace fettle::web {

ConnectionWatch::ConnectionWatch(int listener, std::chrono::milliseconds longest,
                                 std::function<std::set<PeerName>()> spared)
    : longest_(longest), spared_(std::move(spared)), connections_(listener) {
  thread_ = std::thread([this] { look(); });
}

ConnectionWatch::~ConnectionWatch() {
  {
    const std::lock_guard hold(mutex_);
    stop_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void ConnectionWatch::end_all() {
  const std::lock_guard hold(mutex_);
  connections_.end_older_than(std::chrono::milliseconds(0));
}

void ConnectionWatch::look() {
  const auto nap = std::min(longest_ / 4, std::chrono::milliseconds(1000));
  std::unique_lock hold(mutex_);
  while (!ended_.wait_for(hold, nap, [&] { return stop_; })) {
    connections_.end_older_than(longest_, spared_ ? spared_() : std::set<PeerName>());
  }
}

}  // namespace fettle::web
