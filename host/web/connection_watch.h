// Limits of httplib are of one read: who sends a byte a second would stay for ever.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "host/web/connections.h"

namespace fettle::web {

// Looks at the connections to a listener again and again, in a thread of its own.
class ConnectionWatch {
 public:
  // Ends those that stay `longest`, and not those of peers that `spared` names; it is called from
  // that thread.
  ConnectionWatch(int listener, std::chrono::milliseconds longest,
                  std::function<std::set<PeerName>()> spared = nullptr);
  ~ConnectionWatch();
  ConnectionWatch(const ConnectionWatch&) = delete;
  ConnectionWatch& operator=(const ConnectionWatch&) = delete;

  // At once, whoever is spared else.
  void end_all();

 private:
  void look();

  const std::chrono::milliseconds longest_;
  const std::function<std::set<PeerName>()> spared_;
  std::mutex mutex_;
  std::condition_variable ended_;
  Connections connections_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace fettle::web
