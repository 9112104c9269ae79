// A board that is up and reached over ssh: commands there, and the agent's package
// installed, told its broker, let in and started.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::app {

class RemoteBoard {
 public:
  // `ssh` are the words before the target, such as "ssh", "-p", "2222".
  RemoteBoard(std::vector<std::string> ssh, std::string target)
      : ssh_(std::move(ssh)), target_(std::move(target)) {}

  // What `command`, run by the board's shell, writes to its standard output. It reads
  // `input`; what it says on standard error the user sees. Unreachable: it ended
  // otherwise than with status 0.
  Result<std::string> run(const std::string& command, const std::string& input = "") const;
  const std::string& target() const { return target_; }

 private:
  std::vector<std::string> ssh_;
  std::string target_;
};

struct InstallPlan {
  std::string package;     // the agent's .deb; empty: beside this program, by architecture
  std::string name;        // on the allow list; empty: as its key is there, or its host name
  std::string broker;      // tcp://HOST:PORT as the board reaches it
  std::string broker_key;  // its public key
  std::string device_key;  // empty: the board recognises itself
  std::vector<std::string> settings;  // further lines of /etc/fettle/agent.toml
  // Asked once, where the board's system cannot hold candidates, with the agent's own words:
  // may they run there all the same? Unset: they may not.
  std::function<bool(const std::string& why)> may_run_unsandboxed;
};

struct InstalledBoard {
  std::string name, hostname, public_key;
};

// Installs with dpkg, takes the public half of the key that the board made for itself,
// allows it in `allow_file`, stops the service and writes /etc/fettle/agent.toml (the old
// one stays beside it as agent.toml.before). As root there, or by sudo without a password.
// InvalidArgument, before anything is installed: the name is allowed with another key.
// Unsupported: candidates may not run unsandboxed; the package is there, stopped, and its key
// is not allowed.
Result<InstalledBoard> install_agent(const RemoteBoard& board, const InstallPlan& plan,
                                     const std::string& allow_file);
// Starts what install_agent left stopped.
Result<void> start_agent(const RemoteBoard& board);

}  // namespace fettle::app
