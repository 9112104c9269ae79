// Target profiles: what is known of a board before it says so itself. The files
// of toolchains/profiles, embedded when the program is built.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/space/cpu_target.h"

namespace fettle::space {

// What a board has beside this CPU.
struct Accelerator {
  std::string kind;  // "cuda", "opencl" or "vta"; "" where the profile names none
  std::string key;   // what agents offer it under; "" where they cannot yet
  std::string name;
};

// Figures of data sheets; 0 where the profile states none.
struct Profile {
  std::string name, description;
  std::vector<std::string> device_keys;
  CpuTarget target;  // threads are not a profile's matter
  int cores = 0;
  double clock_mhz = 0;                 // the highest
  double peak_gflops_per_core_f32 = 0;  // at that clock; a multiply-add is two
  double memory_gbps = 0;               // GB/s
  Accelerator accelerator;
  std::vector<std::string> unread;  // keys of the file that nobody reads: a mistake in it

  // What `threads` cores reach at most at the clock `khz` (0: the profile's), in GFLOPS;
  // 0 when unknown.
  double peak_gflops(int threads, std::uint32_t khz) const;
};

const std::vector<Profile>& profiles();

// The profile of a device key, if its architecture is `arch`; else the generic
// one of the architecture; null: an architecture that has none.
const Profile* find_profile(const std::string& device_key, const std::string& arch);

// A device as the profile describes it, with its first key: what code is made for before a board
// has said anything.
wire::DeviceInfoT device_of(const Profile& profile);

// The one that the board names itself, else by its key. Null: not a CPU, or as above.
const Profile* profile_of(const wire::DeviceInfoT& device);

}  // namespace fettle::space
