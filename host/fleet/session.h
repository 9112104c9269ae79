// The client's side of the fleet: a Runner that measures on the boards of one key
// through a broker. Its socket lives in a thread of its own; every method may be
// called from any one thread at a time.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "host/fleet/broker_address.h"
#include "host/fleet/session_core.h"
#include "host/tune/pipeline.h"

namespace fettle::fleet {

class SessionLoop;

class Session final : public tune::Runner {
 public:
  // Waits until the session is open. NotFound lists the keys that the broker has;
  // Unreachable: no answer within plan.answer_within; Canceled: `stop` ended the waiting.
  static Result<std::unique_ptr<Session>> open(const BrokerAddress& broker, SessionPlan plan,
                                               const tune::StopSignal* stop = nullptr);
  ~Session() override;  // closes the session: its pending work is dropped

  std::size_t capacity() const override;
  std::size_t boards_there() const override;
  std::size_t boards_unlike() const override;
  bool reachable() const override;
  void offer_blob(const wire::Hash& hash, Bytes bytes) override;
  // The broker has that blob from a builder: requests may name it.
  void blob_is_there(const wire::Hash& hash);
  void submit(std::uint64_t trial, const wire::MeasureRequestT& request) override;
  void submit_to(const std::string& board_id, std::uint64_t trial,
                 const wire::MeasureRequestT& request) override;
  void cancel_pending() override;
  // Results first; an error (the broker is gone for good) once there are none.
  Result<std::vector<tune::Measured>> poll(std::chrono::milliseconds wait) override;
  int ready_fd() const override;
  const wire::DeviceInfoT& device() const override { return device_; }  // as it was when opened
  const wire::BoardT& board() const override { return board_; }

 private:
  explicit Session(std::unique_ptr<SessionLoop> loop);
  std::unique_ptr<SessionLoop> loop_;
  wire::DeviceInfoT device_;
  wire::BoardT board_;
};

}  // namespace fettle::fleet
