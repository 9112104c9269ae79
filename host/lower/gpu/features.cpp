// Features of a GPU's programs (features.h).
#include "host/lower/gpu/features.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "host/ir/mutator.h"
#include "host/lower/gpu/launch_shape.h"
#include "host/lower/gpu/lowering.h"
#include "host/lower/loop_nest.h"

namespace fettle::lower {

const char* const kGpuFeaturesAfter = "vectorize";

namespace {

constexpr double kSector = 32;            // bytes that come from memory at once
constexpr double kBanks = 32;             // of shared memory, a word wide
constexpr double kThreadsPerUnit = 2048;  // most that a compute unit holds
constexpr double kBlocksPerUnit = 32;     // most
constexpr double kOtherRegisters = 24;    // addresses, counters
constexpr double kBlocksOfShared = 2;     // that a unit holds, with all that each may have

// Of the estimate, in cycles. Their size was read off 4,600 trials of ResNet-18's layers on an
// H200: what a launch takes by itself, what threads wait at a barrier for what they load between
// two, and how many warps it takes to keep a unit's lanes at work.
constexpr double kLanesPerUnit = 128;
constexpr double kLaunch = 4000;
constexpr double kBarrier = 500;
constexpr double kBusyWarps = 6;
constexpr double kCyclesPerSector = 0.2;  // caches serve most
constexpr double kCyclesPerTurn = 0.5;
constexpr double kTileSpeed = 8;  // operations of an instruction of several threads, beside others

struct Features {
  std::vector<std::string> names;
  std::vector<float> values;

  void add(std::string name, double value) {
    names.push_back(std::move(name));
    values.push_back(float(value));
  }
  void log(const std::string& name, double value) {
    add("log_" + name, std::log2(1 + std::max(0.0, value)));
  }
};

// One launch, and what all its threads do.
struct Costs {
  LaunchShape shape;
  double operations = 0;
  double loads = 0;            // of memory, by threads
  double global_bytes = 0;     // asked for by threads
  double sectors = 0;          // that warps ask for
  double shared_accesses = 0;  // by threads
  double shared_turns = 0;     // of warps, conflicts counted
  double registers = 0;        // of a thread, by estimate
  double code = 0;             // unrolled statements
  double barriers = 0;         // that stand in it
  double waits = 0;            // barriers that a block meets
  double issued = 0;           // instructions, by threads
  double largest_step = 0;     // between neighbouring threads, in bytes
};

// Of a warp's accesses whose neighbours lie `step` bytes apart.
double sectors_of(double step, double bytes, double warp) {
  const double span = step == 0 ? bytes : std::min(step, kSector) * warp;
  return std::max(1.0, span / kSector);
}

double turns_of(double step, double warp) {
  const double words = std::fabs(step) / 4;
  if (words < 2) return 1;
  const double whole = std::floor(words);
  double conflicts = 1;
  while (conflicts < std::min(kBanks, warp) && std::fmod(whole, conflicts * 2) == 0) conflicts *= 2;
  return conflicts;
}

Costs costs_of(const ir::Function& function, const space::GpuTarget& target) {
  Costs costs;
  costs.shape = launch_shape(function);
  std::vector<ir::Var> neighbours;  // variables that differ between neighbouring threads
  ir::walk(
      function.body,
      [&](const ir::Stmt& s) {
        if (const auto* loop = std::get_if<ir::For>(&s->node);
            loop && loop->axis == ir::ThreadAxis::ThreadX) {
          neighbours.push_back(loop->var);
        }
        costs.barriers += std::holds_alternative<ir::Barrier>(s->node);
      },
      nullptr);
  const LoopNests found = loop_nests(function);
  const double warp = std::min<double>(target.warp, double(costs.shape.block[0]));
  for (const LoopNest& nest : found.nests) {
    costs.operations += nest.operations * nest.times;
    costs.issued += nest.times * (nest.vector_operations + double(nest.accesses.size()) +
                                  (nest.tile_call ? nest.operations / kTileSpeed : 0));
    double unrolled = 1;
    for (const LoopTrip& loop : nest.loops) {
      if (loop.kind == ir::ForKind::Unrolled) unrolled *= loop.extent;
    }
    costs.code += unrolled;
    for (const Access& access : nest.accesses) {
      const double bytes = access.lanes * access.buffer->type.bytes();
      double step = 0;
      for (const ir::Var& var : neighbours) {
        step = std::max(step,
                        std::fabs(access.movement.coefficient(var)) * access.buffer->type.bytes());
      }
      if (ir::row_of(access.buffer->scope).sharing == ir::Sharing::Block) {
        costs.shared_accesses += nest.times;
        costs.shared_turns += nest.times / target.warp * turns_of(step, warp);
      } else {
        costs.loads += nest.times;
        costs.global_bytes += nest.times * bytes;
        costs.sectors += nest.times / target.warp * sectors_of(step, bytes, warp);
        costs.largest_step = std::max(costs.largest_step, step);
      }
    }
  }
  costs.waits = found.barriers / double(costs.shape.threads() * costs.shape.blocks());
  costs.registers = found.register_bytes / 4 + kOtherRegisters;
  return costs;
}

// Blocks that a compute unit holds side by side: by their threads, registers and memory.
double blocks_per_unit(const Costs& costs, const space::GpuTarget& target) {
  const double threads = double(std::max<std::int64_t>(costs.shape.threads(), target.warp));
  double most = std::min(kBlocksPerUnit, std::floor(kThreadsPerUnit / threads));
  most = std::min(most, std::floor(target.registers_per_block / (threads * costs.registers)));
  if (costs.shape.shared_bytes > 0) {
    const double unit = target.shared_bytes_per_unit > 0
                            ? double(target.shared_bytes_per_unit)
                            : kBlocksOfShared * double(target.shared_bytes);
    most = std::min(most, std::floor(unit / double(costs.shape.shared_bytes)));
  }
  return std::max(1.0, most);
}

// A launch: whichever of its instructions and accesses takes longest, where few warps and a last
// wave that is not full leave lanes idle; and what is waited for, wave after wave.
double cycles_of(const Costs& costs, const space::GpuTarget& target) {
  const double blocks = double(costs.shape.blocks()), all = target.compute_units;
  const double together = blocks_per_unit(costs, target) * all;
  const double waves = std::ceil(blocks / together), resident = std::min(blocks, together);
  const double units = std::min(all, blocks);
  const double warps = resident / units * double(costs.shape.threads()) / target.warp;
  const double lanes = kLanesPerUnit * units * std::min(1.0, warps / kBusyWarps);
  return std::max({costs.issued / lanes * waves * resident / blocks,
                   costs.sectors * kCyclesPerSector / all,
                   costs.shared_turns * kCyclesPerTurn / units}) +
         waves * costs.waits * kBarrier + kLaunch;
}

Features all_features(const ir::Module& module, const space::GpuTarget& target) {
  Costs hot, all;
  double launches = 0, heat = -1, cycles = 0;
  bool texels = false;  // some buffers may be read through images
  for (const ir::Launch& launch : module.launches) {
    if (launch.prepare) continue;
    launches += 1;
    const ir::Function& function = module.functions[std::size_t(launch.function)];
    const Costs costs = costs_of(function, target);
    cycles += cycles_of(costs, target);
    texels |= function.texels > 0;
    all.operations += costs.operations;
    all.loads += costs.loads;
    all.global_bytes += costs.global_bytes;
    all.sectors += costs.sectors;
    all.shared_accesses += costs.shared_accesses;
    all.shared_turns += costs.shared_turns;
    all.code += costs.code;
    const double warmth = costs.operations + costs.loads;
    if (warmth > heat) heat = warmth, hot = costs;
  }
  double scratch = 0, memory = 0;
  for (const ir::ProgramBuffer& b : module.buffers) {
    const double bytes = double(b.buffer->elements()) * b.buffer->type.bytes();
    (b.role == ir::Role::Scratch ? scratch : memory) += bytes;
  }
  const double threads = double(hot.shape.threads()), blocks = double(hot.shape.blocks());
  const double together = blocks_per_unit(hot, target) * target.compute_units;
  const double waves = std::ceil(blocks / together);
  Features f;
  f.log("operations", all.operations);
  f.log("accesses", all.loads);
  f.log("global_bytes", all.global_bytes);
  f.log("sectors", all.sectors);
  f.log("shared_accesses", all.shared_accesses);
  f.log("shared_turns", all.shared_turns);
  f.log("code", all.code);
  f.log("scratch_bytes", scratch);
  f.log("memory_bytes", memory);
  f.add("launches", launches);
  f.log("threads", threads);
  f.log("block_x", double(hot.shape.block[0]));
  f.log("blocks", blocks);
  f.log("shared_bytes", double(hot.shape.shared_bytes));
  f.add("shared_share", double(hot.shape.shared_bytes) / double(target.shared_bytes));
  f.log("registers", hot.registers);
  f.add("register_share", hot.registers / target.registers_per_thread);
  f.log("barriers", hot.barriers);
  f.add("warps", std::ceil(threads / target.warp) * target.warp / std::max(1.0, threads));
  f.add("occupancy", blocks_per_unit(hot, target) * threads / kThreadsPerUnit);
  f.log("waves", waves);
  f.add("balance", blocks / (waves * together));
  f.add("busy_units", std::min(1.0, blocks / target.compute_units));
  f.log("operations_per_thread", hot.operations / (threads * blocks));
  f.add("intensity", std::log2((1 + hot.operations) / (1 + hot.global_bytes)));
  f.add("sector_use", std::log2((1 + hot.global_bytes / kSector) / (1 + hot.sectors)));
  f.add("shared_per_operation", hot.shared_accesses / std::max(1.0, hot.operations));
  f.add("conflicts", hot.shared_turns * target.warp / std::max(1.0, hot.shared_accesses));
  f.log("largest_step", hot.largest_step);
  f.add("images", texels ? 1 : 0);
  f.log("estimated_cycles", cycles);
  return f;
}

}  // namespace

std::vector<float> gpu_features(const ir::Module& loops, const space::GpuTarget& target) {
  return all_features(loops, target).values;
}

std::vector<std::string> gpu_feature_names() { return all_features({}, {}).names; }

std::size_t gpu_feature_index(const std::string& name) {
  const std::vector<std::string> names = gpu_feature_names();
  const auto found = std::find(names.begin(), names.end(), name);
  assert(found != names.end());
  return std::size_t(found - names.begin());
}

Result<std::vector<float>> gpu_features_of(const space::GpuSpace& task,
                                           const space::Configuration& configuration) {
  auto loops = lower_gpu_loops(task, configuration);
  if (!loops) return std::move(loops).error();
  return gpu_features(*loops, task.target());
}

}  // namespace fettle::lower
