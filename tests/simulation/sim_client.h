// A client of a simulation: the real SessionCore, and a user who submits trials, cancels, closes
// and starts again. It checks what every client may count on.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/fleet/session_core.h"
#include "tests/simulation/network.h"

namespace fettle::fleet::simulation {

class SimClient {
 public:
  using Broken = std::function<void(const std::string& what)>;
  // number: of this client, from 1; trials: that it wants measured.
  SimClient(Events& events, Network& network, Random random, std::uint32_t number,
            std::string device_key, std::uint32_t trials, Broken broken);

  void vanish();         // the process is killed; another starts soon
  void close_session();  // and opens another
  void cancel();         // what no board has yet; it is submitted again later
  void step_clock(milliseconds ahead) {
    skew_ += ahead;
    stepped_ += ahead;
  }
  void hear_garbage();
  void key_revoked() { revoked_ = true; }
  void finish();  // closes its session and ends

  bool done() const { return unresolved() == 0; }
  std::size_t unresolved() const;
  Network::Endpoint* endpoint() { return endpoint_.get(); }
  std::string state() const;  // for people

  struct Tally {
    std::uint64_t submitted = 0, measured = 0, failed = 0, canceled = 0, sessions = 0, errors = 0;
    std::map<std::string, std::uint64_t> failures;  // by the code
  };
  const Tally& tally() const { return tally_; }

 private:
  struct Wanted {
    bool resolved = false, submitted = false;  // submitted: in this session
    std::uint64_t number = 0;                  // in this session
    double marker = 0;                         // of the submission
    std::vector<std::uint32_t> blobs;
  };

  void start();
  void end_session();
  void tick();
  void submit_some();
  void pump();
  void take(const tune::Measured& result);
  void on_error(const Error& error);
  TimePoint local() const { return events_.now() + skew_; }

  Events& events_;
  Network& network_;
  Random random_;
  const std::uint32_t number_;
  const std::string device_key_;
  Permission who_;
  Broken broken_;
  std::shared_ptr<Network::Endpoint> endpoint_;
  std::unique_ptr<SessionCore> core_;
  std::uint64_t run_ = 0, next_number_ = 0;
  bool finished_ = false, revoked_ = false, canceling_ = false;
  milliseconds skew_{0}, stepped_{0};  // stepped: in this session
  std::vector<Bytes> blobs_;
  std::vector<Wanted> wanted_;
  Tally tally_;
};

}  // namespace fettle::fleet::simulation
