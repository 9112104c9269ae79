// CoreWork (core_work.h).
#include "host/lower/cpu/core_work.h"

#include <algorithm>
#include <cmath>

namespace fettle::lower {
namespace {

constexpr double kOperationsPerCycle = 2, kLoadsPerCycle = 2;
constexpr double kLatency = 4;         // cycles, from a sum to the next that needs it
constexpr double kOtherRegisters = 4;  // operands that are held beside the sums, at most
constexpr double kLoopInstructions = 2;

// Of its lanes some lie on one cache line and some on the next one.
bool may_straddle(const Access& access, const LoopNest& nest, double line_bytes) {
  const double element = access.buffer->type.bytes();
  const auto unit = static_cast<std::int64_t>(std::min(line_bytes, access.lanes * element));
  return std::any_of(nest.loops.begin(), nest.loops.end(), [&](const LoopTrip& loop) {
    const double step = access.movement.coefficient(loop.var) * element;
    const auto bytes = static_cast<std::int64_t>(step);
    return loop.extent > 1 && (double(bytes) != step || bytes % unit != 0);
  });
}

// Rows: vectors as they lie in memory. Spread: one value in all lanes, or lanes put in order.
enum class Loaded { Rows, Spread };

// Loads of these that registers do not hold until their next use, in one run of a body whose
// loops run in this order; beside those that load each once. `room`: registers for operands.
double reloads(const LoopNest& nest, Loaded what, std::span<const LoopTrip> inside, double room,
               double vector_bytes, double line_bytes) {
  const auto registers = [&](std::size_t depth) {
    double trips = 1, sum = 0;
    for (const LoopTrip& loop : inside.subspan(depth)) trips *= loop.extent;
    for (Access access : nest.accesses) {
      const bool spread = access.lanes == 1 || access.shuffled;
      if (access.store || spread != (what == Loaded::Spread)) continue;
      const double element = access.buffer->type.bytes();
      const double parts = std::max(1.0, access.lanes * element / vector_bytes);
      if (spread) access.lanes = 1;  // each place is another register
      const double bytes = access.lanes * element;
      const double places = footprint(access, inside.subspan(depth), line_bytes).bytes / bytes;
      sum += std::min(trips, places) * parts;
    }
    return sum;
  };
  const double once = registers(0);
  double held = once, trips = 1;
  for (std::size_t depth = 0; depth < inside.size() && held > room; ++depth) {
    trips *= inside[depth].extent;
    held = registers(depth + 1);
  }
  return std::max(0.0, trips * held - once);
}

}  // namespace

void CoreWork::add(const LoopNest& nest, const space::CpuTarget& target) {
  const double vector_bytes = target.vector_bits / 8.0, line = cache_line_bytes(target);
  const std::size_t body = body_of(nest);
  const std::span<const LoopTrip> inside = std::span(nest.loops).subspan(body);
  double trips = 1, sums = 1;
  std::vector<LoopTrip> tile;  // of the result's loops, not of the reduction's
  for (const LoopTrip& loop : inside) {
    trips *= loop.extent;
    if (nest.stored.coefficient(loop.var) == 0) continue;
    sums *= loop.extent;
    tile.push_back(loop);
  }
  const double steps = trips / sums;  // of the reduction
  const double runs = nest.times / trips;
  const double vectors = std::max(1.0, nest.lanes * 4.0 / vector_bytes);  // that one becomes
  double loaded = 0, stored = 0, operands = 0, straddling = 0, shuffled = 0;
  for (const Access& access : nest.accesses) {
    const double bytes = access.lanes * access.buffer->type.bytes();
    const double parts = std::max(1.0, bytes / vector_bytes);
    const bool gathers = access.lanes > 1 && access.lane_stride != 1;
    const auto places = [&](std::span<const LoopTrip> loops) {
      return std::min(trips, footprint(access, loops, line).bytes / bytes) * parts;
    };
    const double instructions = places(inside) * (gathers ? access.lanes : 1);
    (access.store ? stored : loaded) += instructions;
    if (!access.store && access.lanes > 1) operands += places(tile);
    if (access.lanes > 1 && !gathers && may_straddle(access, nest, line)) {
      straddling += instructions;
    }
    if (access.store) stored_bytes += nest.times * bytes;
    if (access.shuffled) {
      Access first = access;  // its lanes stand as this one does
      first.lanes = 1;
      const double element = access.buffer->type.bytes();
      shuffled += std::min(trips, footprint(first, inside, line).bytes / element) * parts;
    }
  }
  const double operations = nest.vector_operations * vectors * trips;
  const bool in_registers = nest.register_accesses > 0 && nest.vector_operations > 0;
  const double held = (in_registers ? sums * vectors : 0) + std::min(operands, kOtherRegisters) + 1;
  const double spilled = std::max(0.0, held - target.vector_registers) * steps * 2;
  const bool waits =
      in_registers && body > 0 && nest.stored.coefficient(nest.loops[body - 1].var) == 0;
  arithmetic += runs * operations / kOperationsPerCycle;
  loads += runs * (loaded + spilled / 2) / kLoadsPerCycle;
  if (waits) latency += runs * kLatency * steps;
  spills += runs * spilled;
  masked += nest.times * nest.masked_loads * vectors;
  const double room =
      std::max(1.0, target.vector_registers - 1 - (in_registers ? sums * vectors : 0));
  reloaded += runs * reloads(nest, Loaded::Rows, inside, room, vector_bytes, line);
  reloaded_spread += runs * reloads(nest, Loaded::Spread, inside, room, vector_bytes, line);
  shuffles += runs * shuffled;
  unaligned += runs * straddling;
  bodies += runs;
  code += operations + loaded + stored + spilled + shuffled + kLoopInstructions;
}

void CoreWork::add_traffic(const NestFootprint& nest, const space::CpuTarget& target) {
  for (int level = 1; level <= kCacheLevels; ++level) {
    traffic[level - 1] += nest.traffic(kUsableShare * cache_bytes(target, level));
  }
}

namespace {

// Of each of CoreWork's sums, beside a cycle of arithmetic.
struct Weights {
  double loads, latency, spills, masked, reloaded, reloaded_spread, shuffles, unaligned, bodies,
      code, branches, stored_bytes, traffic[2];
};
// Of cores with vectors of 512 bits, and of those with narrower ones.
constexpr Weights kWide = {0.5,  0.25, 3.8,  0.33, 0.15, 0.4,           1.7,
                           0.17, 1.4,  0.25, 1.8,  0.14, {0.009, 0.033}};
constexpr Weights kNarrow = {3,    0.55, 2.7,  0.95, 0.54, 1.7,           0.97,
                             0.17, 1.7,  0.67, 4.3,  0.38, {0.015, 0.029}};

}  // namespace

double estimated_cycles(const CoreWork& work, const space::CpuTarget& target) {
  const Weights& by = target.vector_bits >= 512 ? kWide : kNarrow;
  return work.arithmetic + by.loads * work.loads + by.latency * work.latency +
         by.spills * work.spills + by.masked * work.masked + by.reloaded * work.reloaded +
         by.reloaded_spread * work.reloaded_spread + by.shuffles * work.shuffles +
         by.unaligned * work.unaligned + by.bodies * work.bodies + by.code * work.code +
         by.branches * work.branches + by.stored_bytes * work.stored_bytes +
         by.traffic[0] * work.traffic[0] + by.traffic[1] * work.traffic[1];
}

}  // namespace fettle::lower
