// A broker and one agent of ours, as processes of a benchmark: the real ones, with
// keys of their own in a folder that goes with them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/fleet/broker.h"
#include "host/fleet/session.h"
#include "schemas/wire/native_arch.h"

namespace fettle::bench {

// ARCH/fettle-agent beside the folder that this program lies in ("build/agents").
std::filesystem::path default_agents_folder();
// `name` in the folder of this program.
std::filesystem::path sibling_program(const std::string& name);

class PrivateFleet {
 public:
  static Result<std::unique_ptr<PrivateFleet>> start();
  ~PrivateFleet();
  PrivateFleet(const PrivateFleet&) = delete;

  // Starts the agent and returns at once. `options` follow the link's own.
  Result<pid_t> start_agent(const std::filesystem::path& program, const std::string& key,
                            const std::vector<std::string>& options);
  // Until the broker lists a device of `key`; Timeout, or Unreachable when the agent ended.
  Result<wire::DeviceInfoT> wait_for(const std::string& key, std::chrono::milliseconds at_most);
  void stop_agent();  // SIGTERM, then SIGKILL after two seconds
  fleet::BrokerAddress address() const;

 private:
  PrivateFleet() = default;
  std::filesystem::path folder_;
  fleet::KeyPair client_, agent_;
  std::unique_ptr<fleet::Broker> broker_;
  pid_t pid_ = 0;
};

}  // namespace fettle::bench
