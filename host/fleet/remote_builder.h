// A Builder on the broker's build workers: those of one version, that come and go.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "host/fleet/broker_address.h"
#include "host/tune/pipeline.h"

namespace fettle::fleet {

class SessionLoop;

class RemoteBuilder final : public tune::Builder {
 public:
  // Programs come back by the hashes of their parts, which the broker holds: `there` is told each
  // before the result that names it. NotFound: a broker that knows no build workers; else as
  // Session::open.
  static Result<std::unique_ptr<RemoteBuilder>> open(const BrokerAddress& broker,
                                                     const std::string& version,
                                                     const std::string& name,
                                                     std::function<void(const wire::Hash&)> there,
                                                     const tune::StopSignal* stop = nullptr,
                                                     int priority = 0);
  ~RemoteBuilder() override;

  // Builders of all workers together, now; 0: there is none.
  std::size_t workers() const override;
  // Requests worth keeping in flight, now.
  std::size_t capacity() const;
  void submit(wire::BuildRequestT request) override;
  // Failures of other stages than Build are the fleet's doing, not the candidate's.
  Result<std::vector<tune::Built>> poll(std::chrono::milliseconds wait) override;
  int ready_fd() const override;
  // What is in flight is asked for no more, and answered no more.
  void forget_all();

 private:
  RemoteBuilder(std::unique_ptr<SessionLoop> loop, std::function<void(const wire::Hash&)> there);
  std::unique_ptr<SessionLoop> loop_;
  std::function<void(const wire::Hash&)> there_;
  std::map<std::uint64_t, std::uint64_t> ids_;  // of requests, by the number of their trial
  std::uint64_t next_ = 1;
};

}  // namespace fettle::fleet
