// The agent's options: command line over configuration file over defaults.
#pragma once

#include <string>
#include <vector>

#include "agent/device/device_config.h"
#include "agent/platform/board_profile.h"
#include "agent/platform/clock_pin.h"
#include "agent/platform/system_root.h"
#include "agent/server/log.h"
#include "schemas/wire/result.h"

namespace fettle::agent {

struct AgentOptions {
  std::string broker;      // "tcp://host:9190"
  std::string broker_key;  // Z85 public key, or the file that holds it
  std::string key_file;    // the agent's key pair
  int key_fd = -1;         // or an inherited descriptor with the same text
  std::string board_model;
  std::vector<DeviceConfig> devices;  // one per --key, or of the recognised board; at least one
  std::vector<std::uint32_t> left_over_cores;  // of a recognised board; no device is of them
  std::uint64_t blob_cache_bytes = 0;
  LogLevel log_level = LogLevel::Info;
  std::string worker_gpu;            // file of the GPUs' worker program; "": the embedded one
  std::uint32_t worker_seconds = 2;  // the first word to the broker waits so long for the workers'
  bool randomize_addresses = false;
  bool allow_unsandboxed = false;
  std::vector<std::string> hidden;  // beside the key file: what no worker reaches
  std::uint32_t pin_khz = 0;        // --pin-clocks; 0: leave them, kHighestClock: as they go
  std::string make_key_file;        // Mode::MakeKey: where the new pair goes
  enum class Mode {
    Serve,
    Help,
    Version,
    SelfTest,
    CheckConfig,
    MakeKey,
    FpgaHelper
  } mode = Mode::Serve;
};

// InvalidArgument: one line that says which option is wrong and what it takes.
// Options that describe a device belong to the --key before them, or to all when
// they come before the first --key. Without any --key the devices are those of the
// board that `root`'s device tree names by one of `profiles`.
Result<AgentOptions> parse_options(const std::vector<std::string>& arguments,
                                   const SystemRoot& root = SystemRoot(),
                                   const std::vector<BoardProfile>& profiles = board_profiles());
// A subset of TOML as command-line words. Lines "name = value", names as on the
// command line without dashes; # comments, quoted strings and [1, 2] lists are
// understood. A board's second device stands in a table "[[device]]" of its own,
// which holds that device's key, in any order with its other options.
Result<std::vector<std::string>> options_of_config(const std::string& text,
                                                   const std::string& file_name);
std::string option_help();

}  // namespace fettle::agent
