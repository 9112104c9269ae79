// A fettle-agent process on this machine, kept alive for as long as this object:
// what `fettle tune --device local` starts, natively or through an emulator.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/fleet/session.h"

namespace fettle::fleet {

struct LocalAgentOptions {
  std::string program;              // fettle-agent; empty: find_agent of this machine
  std::vector<std::string> prefix;  // put before it: {"qemu-arm-static", "-cpu", "cortex-a9"}
  std::string broker_url, broker_public_key;
  KeyPair keys;  // of the agent; the secret goes through a pipe
  std::string device_key = "local";
  std::vector<std::string> arguments;  // more of fettle-agent's options; then $FETTLE_AGENT_OPTIONS
  std::vector<int> cores;  // where it may run, at each start; empty: where this process may
  int restarts = 10;       // how often it is started again after it died
  std::function<void(const std::string&)> log;  // its lines; from a thread of this object
};

class LocalAgent {
 public:
  static Result<std::unique_ptr<LocalAgent>> start(LocalAgentOptions options);
  ~LocalAgent();  // SIGTERM, then SIGKILL after two seconds; by pid

  // Until the broker lists the device key. An Error at once when the agent ended,
  // with what it said; Timeout when `limit` passed; Canceled when `stop` was requested.
  Result<void> wait_registered(const BrokerAddress& broker, std::chrono::milliseconds limit,
                               const tune::StopSignal* stop = nullptr) const;
  // Why it is not running any more and will not be started again.
  Result<void> health() const;
  pid_t pid() const;  // -1: not running now
  int starts() const;

 private:
  struct Loop;
  LocalAgent() = default;
  std::unique_ptr<Loop> loop_;
};

// "x86_64", "aarch64" or "armv7"; "" for another machine.
std::string machine_arch();
// $FETTLE_AGENT, or ../agents/<arch>/fettle-agent beside this program's folder.
// NotFound says where it was looked for and how to build it.
Result<std::string> find_agent(const std::string& arch);

}  // namespace fettle::fleet
