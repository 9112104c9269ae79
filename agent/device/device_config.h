// What a device is told at the start: from the command line or configuration file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schemas/device_generated.h"

namespace fettle::agent {

struct DeviceConfig {
  wire::DeviceKind kind = wire::DeviceKind::Cpu;
  std::string key;                   // the name users tune for
  std::uint32_t index = 0;           // which device of its board
  std::string profile;               // the target profile of its cores; "": none is known
  std::vector<std::string> aliases;  // other keys that it answers to
  std::vector<std::uint32_t> cores;  // empty: all that the process may use
  std::uint32_t threads = 0;         // most threads of a candidate; 0: one per core
  std::string cpu;                   // LLVM's name when the user knows better
  bool emulated = false;
  bool beside = false;  // found beside a recognised board's cores, not named: it may be missing
  // What options of its kind have set, for its description and its worker (DeviceInfo.extra).
  std::map<std::string, std::string> settings;
  std::vector<std::string> options_of_kind;  // names of those given to it that not all kinds know
  // Instructions: an emulator counts the clock by executed instructions (icount).
  wire::ClockDomain clock = wire::ClockDomain::Nanoseconds;
  std::uint64_t memory_limit_bytes = 0;  // of one program; 0: chosen from the machine's memory
};

}  // namespace fettle::agent
