// Option table and configuration file (options.h).
#include "agent/server/options.h"

#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "agent/device/registry.h"
#include "agent/platform/cpu_facts.h"
#include "agent/server/board_devices.h"
#include "schemas/wire/bounded_read.h"

namespace fettle::agent {
namespace {

struct Parsing {
  AgentOptions options;
  DeviceConfig defaults;
  DeviceConfig& device() { return options.devices.empty() ? defaults : options.devices.back(); }
};

std::string absolute(const std::string& path) {
  char folder[PATH_MAX];
  if (path.starts_with("/") || getcwd(folder, sizeof folder) == nullptr) return path;
  return std::string(folder) + "/" + path;
}

// An option of every kind of device, or of the agent.
struct Row {
  const char* name;
  const char* value;  // what it takes, for the help; null: a switch
  const char* help;
  Result<void> (*set)(Parsing&, const std::string&);
};

Result<void> set_key(Parsing& to, const std::string& value) {
  if (value.empty() || value.size() > 64)
    return wrong_option("key", "takes a name of 1 to 64 characters");
  DeviceConfig device = to.defaults;
  device.options_of_kind.clear();  // those for all devices are for whom they concern
  device.key = value;
  device.index = static_cast<std::uint32_t>(to.options.devices.size());
  to.options.devices.push_back(std::move(device));
  return {};
}

Result<void> set_kind(Parsing& to, const std::string& value) {
  std::string names;
  for (const DeviceRow& row : device_rows()) {
    if (value == row.name) return to.device().kind = row.kind, Result<void>();
    names += std::string(names.empty() ? "" : ", ") + row.name;
  }
  return wrong_option("device-kind", "takes one of " + names + ", not '" + value + "'");
}

Result<void> set_pin_clocks(Parsing& to, const std::string& value) {
  std::uint64_t mhz = 0;
  if (value != "max" && (!parse_number(value, 1'000'000, mhz) || mhz == 0)) {
    return wrong_option("pin-clocks", "takes a clock in MHz or max, not '" + value + "'");
  }
  to.options.pin_khz = value == "max" ? kHighestClock : static_cast<std::uint32_t>(mhz * 1000);
  return {};
}

Result<void> set_log_level_option(Parsing& to, const std::string& value) {
  static const char* const names[] = {"error", "warning", "info", "debug"};
  for (int i = 0; i < 4; ++i) {
    if (value == names[i]) return to.options.log_level = static_cast<LogLevel>(i), Result<void>();
  }
  return wrong_option("log-level", "takes error, warning, info or debug, not '" + value + "'");
}

Result<void> set_megabytes(std::uint64_t& out, const char* name, const std::string& value) {
  std::uint64_t megabytes;
  if (!parse_number(value, 1 << 20, megabytes) || megabytes == 0) {
    return wrong_option(name, "takes a number of MiB above 0, not '" + value + "'");
  }
  out = megabytes << 20;
  return {};
}

// Every option, once. Order: as the help prints it.
constexpr Row kRows[] = {
    {"broker", "URL", "where the broker listens: tcp://HOST:PORT",
     [](Parsing& to, const std::string& v) { return to.options.broker = v, Result<void>(); }},
    {"broker-key", "Z85|FILE", "the broker's public key, or a file that holds it",
     [](Parsing& to, const std::string& v) { return to.options.broker_key = v, Result<void>(); }},
    {"key-file", "FILE", "this agent's key pair (fettle keys new), mode 0600",
     [](Parsing& to, const std::string& v) { return to.options.key_file = v, Result<void>(); }},
    {"key-fd", "N", "read the key pair from an inherited descriptor instead",
     [](Parsing& to, const std::string& v) -> Result<void> {
       std::uint64_t fd;
       if (!parse_number(v, 1 << 20, fd))
         return wrong_option("key-fd", "takes a descriptor number");
       to.options.key_fd = static_cast<int>(fd);
       return {};
     }},
    {"key", "NAME",
     "the device key users tune for; again for a second device (default: of the "
     "recognised board)",
     set_key},
    {"device-kind", "KIND", "cpu (default), cuda, opencl, vta, xrt or null", set_kind},
    {"emulated", nullptr, "runs under an emulator: its time is not board time",
     [](Parsing& to, const std::string&) { return to.device().emulated = true, Result<void>(); }},
    {"memory-limit", "MB", "most memory of one program (default: half of the machine's)",
     [](Parsing& to, const std::string& v) {
       return set_megabytes(to.device().memory_limit_bytes, "memory-limit", v);
     }},
    {"board-model", "TEXT", "the board's model, when the system does not say it",
     [](Parsing& to, const std::string& v) { return to.options.board_model = v, Result<void>(); }},
    {"pin-clocks", "MHZ|max", "hold the devices' clocks there while the agent runs",
     set_pin_clocks},
    {"randomize-addresses", nullptr,
     "leave the kernel's address randomization on; kernels vary more between sessions then",
     [](Parsing& to, const std::string&) {
       return to.options.randomize_addresses = true, Result<void>();
     }},
    {"allow-unsandboxed", nullptr,
     "run candidates also where the system cannot hold them; anyone who may send programs can do "
     "then what this agent's user can",
     [](Parsing& to, const std::string&) {
       return to.options.allow_unsandboxed = true, Result<void>();
     }},
    {"hide", "PATH", "a file or folder that no candidate reaches, beside the keys; may be repeated",
     [](Parsing& to, const std::string& v) {
       return to.options.hidden.push_back(absolute(v)), Result<void>();
     }},
    {"blob-cache", "MB",
     "bound of uploaded data kept (default: an eighth of the memory, "
     "64 to 512)",
     [](Parsing& to, const std::string& v) {
       return set_megabytes(to.options.blob_cache_bytes, "blob-cache", v);
     }},
    {"worker-gpu", "FILE", "the worker program of GPUs, where the embedded one cannot be executed",
     [](Parsing& to, const std::string& v) { return to.options.worker_gpu = v, Result<void>(); }},
    {"worker-patience", "SECONDS",
     "how long the broker hears nothing of a board whose drivers still start (default: 2)",
     [](Parsing& to, const std::string& v) -> Result<void> {
       std::uint64_t seconds;
       if (!parse_number(v, 3600, seconds)) {
         return wrong_option("worker-patience", "takes seconds, 3600 at most");
       }
       to.options.worker_seconds = static_cast<std::uint32_t>(seconds);
       return {};
     }},
    {"log-level", "LEVEL", "error, warning, info (default) or debug", set_log_level_option},
    {"self-test", nullptr, "measure a built-in program, print what was found, and end",
     [](Parsing& to, const std::string&) {
       return to.options.mode = AgentOptions::Mode::SelfTest, Result<void>();
     }},
    {"check-config", nullptr, "read the options and keys, say what is wrong with them, and end",
     [](Parsing& to, const std::string&) {
       return to.options.mode = AgentOptions::Mode::CheckConfig, Result<void>();
     }},
    {"make-key", "FILE", "make this agent's key pair there, print its public half, and end",
     [](Parsing& to, const std::string& v) {
       to.options.make_key_file = v;
       return to.options.mode = AgentOptions::Mode::MakeKey, Result<void>();
     }},
    {"fpga-helper", nullptr,
     "serve agents that are not root: program the FPGA and drive its accelerator (for systemd)",
     [](Parsing& to, const std::string&) {
       return to.options.mode = AgentOptions::Mode::FpgaHelper, Result<void>();
     }},
    {"version", nullptr, "print the version and end",
     [](Parsing& to, const std::string&) {
       return to.options.mode = AgentOptions::Mode::Version, Result<void>();
     }},
    {"help", nullptr, "print this and end",
     [](Parsing& to, const std::string&) {
       return to.options.mode = AgentOptions::Mode::Help, Result<void>();
     }},
};

const DeviceOption* find_option(const DeviceRow& row, const std::string& name) {
  for (const DeviceOption& option : row.options) {
    if (name == option.name) return &option;
  }
  return nullptr;
}

const DeviceOption* option_of_some_kind(const std::string& name) {
  for (const DeviceRow& row : device_rows()) {
    if (const DeviceOption* option = find_option(row, name)) return option;
  }
  return nullptr;
}

// What a device was given must mean something for its kind.
Result<void> check_options_of_kind(const AgentOptions& options) {
  for (const DeviceConfig& device : options.devices) {
    const DeviceRow& row = *find_device_row(device.kind);
    for (const std::string& name : device.options_of_kind) {
      if (find_option(row, name)) continue;
      return wrong_option(name, "is no option of a device of the kind " + std::string(row.name));
    }
  }
  return {};
}

Result<std::vector<std::string>> read_config(const std::string& path) {
  auto text = read_whole(path, kMostTextBytes);
  if (!text) return std::move(text).error().in("reading the configuration file");
  return options_of_config(*text, path);
}

Result<void> apply_options(Parsing& to, const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string name = arguments[i], value;
    bool has_value = false;
    if (name.rfind("--", 0) != 0) {
      return Error{ErrorCode::InvalidArgument, "unexpected '" + name + "'; see --help"};
    }
    name.erase(0, 2);
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
      has_value = true;
    }
    const Row* row = nullptr;
    for (const Row& candidate : kRows) {
      if (name == candidate.name) row = &candidate;
    }
    const DeviceOption* of_kind = row ? nullptr : option_of_some_kind(name);
    if (!row && !of_kind && name != "config") {
      return Error{ErrorCode::InvalidArgument, "unknown option --" + name + "; see --help"};
    }
    if (row && !row->value) {
      if (has_value && value != "true" && value != "false")
        return wrong_option(name, "takes no value");
      if (value == "false") continue;
    } else if (!has_value) {
      if (i + 1 >= arguments.size()) return wrong_option(name, "needs a value; see --help");
      value = arguments[++i];
    }
    if (of_kind) {
      to.device().options_of_kind.push_back(name);
      if (auto set = of_kind->set(to.device(), value); !set) return set;
    }
    if (!row) continue;  // config was read first
    if (auto set = row->set(to, value); !set) return set;
  }
  return {};
}

}  // namespace

Result<AgentOptions> parse_options(const std::vector<std::string>& arguments,
                                   const SystemRoot& root,
                                   const std::vector<BoardProfile>& profiles) {
  Parsing parsing;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string path;
    if (arguments[i] == "--config" && i + 1 < arguments.size()) path = arguments[i + 1];
    if (arguments[i].rfind("--config=", 0) == 0) path = arguments[i].substr(9);
    if (path.empty()) continue;
    auto configured = read_config(path);
    if (!configured) return std::move(configured).error();
    // Devices of the file stand unless the command line names its own.
    if (auto applied = apply_options(parsing, *configured); !applied) {
      return std::move(applied).error().in("reading " + path);
    }
  }
  for (const std::string& argument : arguments) {
    if (argument == "--key" || argument.rfind("--key=", 0) == 0) {
      if (!parsing.options.devices.empty()) parsing.defaults = parsing.options.devices.front();
      parsing.options.devices.clear();
    }
  }
  // Device options before the first --key on the command line hold for all of them.
  if (auto applied = apply_options(parsing, arguments); !applied) return std::move(applied).error();
  AgentOptions& out = parsing.options;
  if (auto fit = check_options_of_kind(out); !fit) return std::move(fit).error();
  if (auto done = recognise_devices(out, parsing.defaults, root, profiles); !done) {
    return std::move(done).error();
  }
  if (out.mode == AgentOptions::Mode::SelfTest && out.devices.empty()) {
    DeviceConfig device = parsing.defaults;
    device.key = "self-test";
    out.devices.push_back(std::move(device));
  }
  if (out.blob_cache_bytes == 0) {
    const std::uint64_t eighth = physical_memory_bytes() / 8;
    out.blob_cache_bytes =
        eighth<(64u << 20) ? 64u << 20 : eighth>(512u << 20) ? 512u << 20 : eighth;
  }
  if (out.mode != AgentOptions::Mode::Serve && out.mode != AgentOptions::Mode::CheckConfig) {
    return std::move(out);
  }
  if (out.broker.empty()) return wrong_option("broker", "is needed: tcp://HOST:PORT of the broker");
  if (out.broker.rfind("tcp://", 0) != 0 && out.broker.rfind("ipc://", 0) != 0) {
    return wrong_option("broker", "takes tcp://HOST:PORT, not '" + out.broker + "'");
  }
  if (out.devices.empty())
    return wrong_option(
        "key", "is needed: the name users tune this device for (" + board_words(root) + ")");
  if (out.broker_key.empty()) {
    return wrong_option("broker-key",
                        "is needed: the broker's public key (`fettle keys list` prints it)");
  }
  if (out.key_file.empty() && out.key_fd < 0) {
    return wrong_option("key-file",
                        "is needed: this agent's key pair (`fettle keys new NAME` makes one)");
  }
  return std::move(out);
}

std::string option_help() {
  std::string text =
      "fettle-agent measures candidates on this board for a fettle broker.\n\n"
      "usage: fettle-agent --broker URL --broker-key Z85 --key-file FILE --key NAME [option …]\n\n";
  auto line = [&](std::string left, const std::string& help) {
    left = "  --" + left;
    left.resize(left.size() < 26 ? 26 : left.size() + 1, ' ');
    text += left + help + "\n";
  };
  for (const Row& row : kRows) {
    line(std::string(row.name) + (row.value ? std::string(" ") + row.value : ""), row.help);
  }
  for (const DeviceRow& row : device_rows()) {
    for (const DeviceOption& option : row.options) {
      line(std::string(option.name) + " " + option.value,
           std::string(row.name) + ": " + option.help);
    }
  }
  line("config FILE", "the same options, one \"name = value\" a line; the command line wins");
  return text +
         "\nExit status: 0 done, or stopped by SIGTERM or SIGINT; 2 wrong options, keys or files; "
         "3 the broker refuses this agent; 4 its own processes, or the self-test, fail.\n";
}

}  // namespace fettle::agent
