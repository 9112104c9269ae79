// A session's socket and its thread, around SessionCore: what a Runner on boards and a Builder on
// build workers have in common.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <zmq.hpp>

#include "host/fleet/broker_address.h"
#include "host/fleet/session_core.h"
#include "host/tune/pipeline.h"

namespace fettle::fleet {

class SessionLoop {
 public:
  // Waits until the session is open; errors as Session::open.
  static Result<std::unique_ptr<SessionLoop>> open(const BrokerAddress& broker, SessionPlan plan,
                                                   const tune::StopSignal* stop);
  ~SessionLoop();  // closes the session
  SessionLoop(const SessionLoop&) = delete;
  SessionLoop& operator=(const SessionLoop&) = delete;

  // With nobody else at the core; what it says then is sent. From any thread.
  void with_core(const std::function<void(SessionCore&)>& act);
  // The same for who only looks.
  void look(const std::function<void(const SessionCore&)>& at) const;
  // Waits for a result or an error at most that long, then as with_core. `act` takes all results.
  void when_ready(milliseconds wait, const std::function<void(SessionCore&)>& act);
  // Readable when there is a result or an error.
  int ready_fd() const { return ready_fd_; }

 private:
  explicit SessionLoop(SessionPlan plan)
      : core_(std::move(plan), random_id(), random_id(), Clock::now()) {}
  void run();
  void tell();
  bool send_all();

  zmq::context_t context_;
  zmq::socket_t socket_;
  int wake_fd_ = -1, ready_fd_ = -1;
  mutable std::mutex mutex_;  // guards core_ and stopping_
  std::condition_variable changed_;
  SessionCore core_;
  bool stopping_ = false;
  std::deque<SharedBytes> unsent_;  // of the thread alone
  std::thread thread_;
};

}  // namespace fettle::fleet
