// GpuTarget: its text, and what follows from a connected device (gpu_target.h).
#include "host/space/gpu_target.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <iterator>

#include <nlohmann/json.hpp>

#include "host/space/json_reason.h"

namespace fettle::space {

using nlohmann::json;

namespace {

// Compute capabilities that LLVM 19 writes code for, and the first PTX version with each.
struct Capability {
  int sm, ptx;
};
constexpr Capability kCapabilities[] = {
    {50, 40}, {52, 41}, {53, 42}, {60, 50}, {61, 50}, {62, 50}, {70, 60},
    {72, 61}, {75, 63}, {80, 70}, {86, 71}, {87, 74}, {89, 78}, {90, 78},
};

// The newest PTX version that a driver of a CUDA version takes, as far as LLVM 19 writes it.
struct DriverRow {
  int cuda, ptx;
};
constexpr DriverRow kDrivers[] = {
    {900, 60},  {901, 61},  {902, 61},  {1000, 63}, {1001, 64}, {1002, 65}, {1100, 70},
    {1101, 71}, {1102, 72}, {1103, 73}, {1104, 74}, {1105, 75}, {1106, 76}, {1107, 77},
    {1108, 78}, {1200, 80}, {1201, 81}, {1202, 82}, {1203, 83}, {1204, 84}, {1205, 85},
};

// Of OpenCL devices, which do not tell.
constexpr int kUnlimited = 1 << 24, kRegistersOfGpus = 128, kVectorRegisters = 32;
constexpr int kMostThreads = 1024;  // of a block: what more would do nobody has seen
constexpr int kThreadsOfCpus = 64;

const Capability* capability_of(int sm) {
  const auto after = std::find_if(std::begin(kCapabilities), std::end(kCapabilities),
                                  [&](const Capability& row) { return row.sm > sm; });
  return after == std::begin(kCapabilities) ? nullptr : std::prev(after);
}

bool is_possible(const GpuTarget& t) {
  return t.threads_per_block >= 32 && t.threads_per_block <= 4096 && t.shared_bytes >= 1024 &&
         t.registers_per_block >= 1024 && t.registers_per_thread >= 16 && t.warp >= 1 &&
         t.warp <= 128 && t.compute_units >= 1 && t.grid_x >= 1 && t.grid_yz >= 1 &&
         t.vector_width >= 1 && t.vector_width <= 16 && t.image_texels >= 0;
}

// 1206 of "CUDA 12.6"; 0: it says no such thing.
int cuda_version(const std::string& text) {
  int major = 0, minor = 0;
  if (std::sscanf(text.c_str(), "CUDA %d.%d", &major, &minor) != 2) return 0;
  return major * 100 + minor;
}

}  // namespace

Target GpuTarget::target() const {
  json text{{"backend", backend},
            {"threads_per_block", threads_per_block},
            {"shared_bytes", shared_bytes},
            {"registers_per_block", registers_per_block},
            {"registers_per_thread", registers_per_thread},
            {"warp", warp},
            {"compute_units", compute_units},
            {"grid_x", grid_x},
            {"grid_yz", grid_yz},
            {"memory_bytes", memory_bytes}};
  if (sm > 0) text["sm"] = sm;
  if (driver > 0) text["driver"] = driver;
  if (vector_width > 1) text["vector_width"] = vector_width;
  if (shared_is_global) text["shared_is_global"] = true;
  if (half) text["half"] = true;
  if (image_texels > 0) text["image_texels"] = image_texels;
  if (shared_bytes_per_unit > 0) text["shared_bytes_per_unit"] = shared_bytes_per_unit;
  if (!extensions.empty()) text["extensions"] = extensions;
  Result<Target> target = Target::parse(text.dump());
  assert(target);
  return std::move(*target);
}

std::vector<const ir::IntrinsicRow*> GpuTarget::instructions() const {
  return ir::intrinsics_of(backend, 0, [&](const std::string& feature) {
    int least = 0;
    if (std::sscanf(feature.c_str(), "sm_%d", &least) == 1) return sm >= least;
    return std::binary_search(extensions.begin(), extensions.end(), feature);
  });
}

Result<GpuTarget> GpuTarget::parse(const Target& target, const std::string& backend) {
  if (target.backend() != backend) {
    return Error{ErrorCode::InvalidArgument,
                 "the target is one of the back end " + target.backend() + ", not of " + backend};
  }
  try {
    const json j = json::parse(target.canonical());
    GpuTarget t;
    t.backend = backend;
    t.threads_per_block = j.at("threads_per_block");
    t.shared_bytes = j.at("shared_bytes");
    t.registers_per_block = j.at("registers_per_block");
    t.registers_per_thread = j.at("registers_per_thread");
    t.warp = j.at("warp");
    t.compute_units = j.at("compute_units");
    t.grid_x = j.at("grid_x");
    t.grid_yz = j.at("grid_yz");
    t.memory_bytes = j.at("memory_bytes");
    t.sm = j.value("sm", 0);
    t.driver = j.value("driver", 0);
    t.vector_width = j.value("vector_width", 1);
    t.shared_is_global = j.value("shared_is_global", false);
    t.half = j.value("half", false);
    t.image_texels = j.value("image_texels", std::int64_t{0});
    t.shared_bytes_per_unit = j.value("shared_bytes_per_unit", std::int64_t{0});
    t.extensions = j.value("extensions", std::vector<std::string>{});
    if (!is_possible(t)) {
      return Error{ErrorCode::InvalidArgument, "target: impossible numbers of a GPU"};
    }
    return t;
  } catch (const json::exception& e) {
    return Error{ErrorCode::InvalidArgument, "target: " + json_reason(e)};
  }
}

namespace {

// What a device of either kind says; what it does not say stays as it is.
void take_facts(const wire::DeviceInfoT& device, GpuTarget& t) {
  const wire::GpuFactsT& facts = *device.gpu;
  if (facts.max_threads_per_block > 0) t.threads_per_block = int(facts.max_threads_per_block);
  if (facts.shared_bytes_per_block > 0) t.shared_bytes = std::int64_t(facts.shared_bytes_per_block);
  if (facts.registers_per_block > 0) t.registers_per_block = int(facts.registers_per_block);
  if (facts.warp_size > 0) t.warp = int(facts.warp_size);
  if (facts.compute_units > 0) t.compute_units = int(facts.compute_units);
  t.memory_bytes = std::int64_t(device.memory_limit_bytes > 0 ? device.memory_limit_bytes
                                                              : facts.global_memory_bytes);
}

// Its agent has not seen it yet.
Error untold(const wire::DeviceInfoT& device) {
  return {ErrorCode::Unsupported,
          "device " + device.key +
              " has not told yet what it is: its driver starts, or there is none on the board "
              "(the agent's log says which); try again in a moment"};
}

}  // namespace

Result<GpuTarget> cuda_target_for(const wire::DeviceInfoT& device, const std::string& backend) {
  if (device.kind != wire::DeviceKind::Cuda) {
    return Error{ErrorCode::Unsupported, "device " + device.key + " is not a CUDA device"};
  }
  if (!device.gpu) return untold(device);
  const wire::GpuFactsT& facts = *device.gpu;
  GpuTarget t;
  t.backend = backend;
  int major = 0, minor = 0;
  if (std::sscanf(facts.compute_capability.c_str(), "%d.%d", &major, &minor) != 2) {
    return Error{ErrorCode::Unsupported, "device " + device.key + ": compute capability \"" +
                                             facts.compute_capability + "\" is none"};
  }
  t.sm = major * 10 + minor;
  t.driver = cuda_version(facts.api_version);
  take_facts(device, t);
  // A kernel asks for what it has above the usual.
  t.shared_bytes = std::max(t.shared_bytes, std::int64_t(facts.shared_bytes_per_block_optin));
  t.shared_bytes_per_unit = std::int64_t(facts.shared_bytes_per_unit);
  if (auto ptx = ptx_version_of(t); !ptx) {
    return std::move(ptx).error().in("device " + device.key);
  }
  if (!is_possible(t)) {
    return Error{ErrorCode::Unsupported, "device " + device.key + ": impossible numbers of a GPU"};
  }
  return t;
}

Result<GpuTarget> opencl_target_for(const wire::DeviceInfoT& device, const std::string& backend) {
  if (device.kind != wire::DeviceKind::OpenCl) {
    return Error{ErrorCode::Unsupported, "device " + device.key + " is not an OpenCL device"};
  }
  if (!device.gpu) return untold(device);
  const wire::GpuFactsT& facts = *device.gpu;
  GpuTarget t;
  t.backend = backend;
  t.registers_per_block = kUnlimited;
  t.registers_per_thread = kRegistersOfGpus;
  take_facts(device, t);
  t.threads_per_block = std::min(t.threads_per_block, kMostThreads);
  t.shared_is_global = facts.shared_is_global;
  t.vector_width = int(std::clamp<std::uint32_t>(facts.vector_width_float, 1, 16));
  t.half = std::find(facts.extensions.begin(), facts.extensions.end(), "cl_khr_fp16") !=
           facts.extensions.end();
  for (const ir::IntrinsicRow& row : ir::intrinsics()) {
    for (const ir::Availability& where : row.available) {
      if (where.arch != backend) continue;
      for (const std::string& asked : where.features) {
        if (std::ranges::count(facts.extensions, asked) > 0) t.extensions.push_back(asked);
      }
    }
  }
  // A CPU's images are functions that are called, and read no faster than memory.
  if (facts.device_type != "CPU") t.image_texels = std::int64_t(facts.image_texels);
  std::ranges::sort(t.extensions);
  const auto twice = std::ranges::unique(t.extensions);
  t.extensions.erase(twice.begin(), twice.end());
  if (facts.device_type == "CPU") {
    // Threads follow one another on a core; what go together are the elements of its vectors.
    t.warp = 1;
    t.threads_per_block = std::min(t.threads_per_block, kThreadsOfCpus);
    t.registers_per_thread = std::max(t.registers_per_thread, kVectorRegisters * t.vector_width);
  }
  if (!is_possible(t)) {
    return Error{ErrorCode::Unsupported, "device " + device.key + ": impossible numbers of a GPU"};
  }
  return t;
}

Result<int> ptx_version_of(const GpuTarget& target) {
  const Capability* capability = capability_of(target.sm);
  if (!capability) {
    return Error{ErrorCode::Unsupported, "no code for compute capability " +
                                             std::to_string(target.sm / 10) + "." +
                                             std::to_string(target.sm % 10) + ": 5.0 is the least"};
  }
  int newest = 0;
  for (const DriverRow& row : kDrivers) {
    if (row.cuda <= target.driver) newest = row.ptx;
  }
  if (newest < capability->ptx) {
    return Error{ErrorCode::Unsupported, "a driver of CUDA " + std::to_string(target.driver / 100) +
                                             "." + std::to_string(target.driver % 100) +
                                             " takes no PTX for sm_" +
                                             std::to_string(capability->sm)};
  }
  return newest;
}

int ptx_sm_of(const GpuTarget& target) {
  const Capability* capability = capability_of(target.sm);
  return capability ? capability->sm : kCapabilities[0].sm;
}

}  // namespace fettle::space
