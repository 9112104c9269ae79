// Features (features.h).
#include "host/lower/cpu/features.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "host/lower/cpu/core_work.h"
#include "host/lower/cpu/lowering.h"
#include "host/lower/cpu/nest_footprint.h"
#include "host/lower/loop_nest.h"

namespace fettle::lower {

const char* const kFeaturesAfter = "split_predicates";

namespace {

constexpr int kIntensityPoints = 6;   // along the loops, from the innermost outwards
constexpr std::size_t kAccesses = 4;  // of the hot statement, the largest first
constexpr double kLeastShare = 0.01;  // of all accesses: whose footprint is looked at

double logarithm(double value) { return std::log2(1 + std::max(0.0, value)); }

class Features {
 public:
  std::vector<std::string> names;
  std::vector<float> values;
  void add(std::string name, double value) {
    names.push_back(std::move(name));
    values.push_back(static_cast<float>(value));
  }
  void log(const std::string& name, double value) { add("log_" + name, logarithm(value)); }
};

std::size_t depth_of_task(const NestFootprint& hot) {
  return std::min<std::size_t>(1, hot.nest.loops.size());
}

// The register file: sums of the tile, a row of vector operands, one broadcast.
void add_registers(Features& f, const NestFootprint& hot, double register_bytes,
                   const space::CpuTarget& target) {
  const LoopNest& nest = hot.nest;
  const double vector_bytes = target.vector_bits / 8.0;
  const double tile = register_bytes / vector_bytes;
  std::vector<LoopTrip> tile_loops;  // unrolled and in the result's index: not of the reduction
  for (const LoopTrip& loop : hot.inside(hot.body)) {
    if (nest.stored.coefficient(loop.var) != 0) tile_loops.push_back(loop);
  }
  double operands = 0, loads = 0, broadcasts = 0;
  for (std::size_t i = 0; i < nest.accesses.size(); ++i) {
    const Access& access = nest.accesses[i];
    if (access.store) continue;
    const double width = access.lanes * access.buffer->type.bytes();
    if (access.lanes > 1) {
      operands += footprint(access, tile_loops, hot.line_bytes).bytes / vector_bytes;
    }
    const double distinct = footprint(access, hot.inside(hot.body), hot.line_bytes).bytes / width;
    loads += distinct;
    if (nest.broadcast[i]) broadcasts += distinct;
  }
  const double work =
      std::max(1.0, nest.vector_operations * hot.trips(hot.body, nest.loops.size()));
  f.add("register_tile_vectors", tile);
  f.add("estimated_registers", tile + operands + 1);
  f.add("register_file_share", (tile + operands + 1) / target.vector_registers);
  f.add("vector_fill", nest.lanes * 32.0 / target.vector_bits);
  f.add("loads_per_operation", loads / work);
  f.add("broadcasts_per_operation", broadcasts / work);
  f.log("body_operations", work);
  f.log("body_code", hot.trips(hot.body, nest.loops.size()));
  f.log("innermost_trips", hot.body > 0 ? nest.loops[hot.body - 1].extent : 1);
  f.log("bodies", nest.times / std::max(1.0, hot.trips(hot.body, nest.loops.size())));
}

void add_caches(Features& f, const NestFootprint& hot, const space::CpuTarget& target) {
  const double operations = hot.nest.operations * hot.nest.times;
  for (int level = 1; level <= kCacheLevels; ++level) {
    const double room = kUsableShare * cache_bytes(target, level);
    const std::size_t depth = hot.depth_that_fits(room);
    const double traffic = hot.trips(0, depth) * hot.footprint[depth];
    const std::string name = "l" + std::to_string(level);
    f.log(name + "_traffic", traffic);
    f.add(name + "_intensity", std::log2((1 + operations) / (1 + traffic)));
    f.add(name + "_task_share", std::log2(1 + hot.footprint[depth_of_task(hot)] / room));
    f.add(name + "_body_share", std::log2(1 + hot.footprint[hot.body] / room));
  }
}

// Operations per byte of data that inner loops touch, as the loops grow.
void add_intensity(Features& f, const NestFootprint& hot) {
  const std::size_t depths = hot.nest.loops.size();
  const double all = logarithm(hot.nest.operations * hot.trips(0, depths));
  for (int point = 0; point < kIntensityPoints; ++point) {
    const double wanted = all * (point + 1) / (kIntensityPoints + 1);
    std::size_t depth = depths;  // the innermost loops that do at least so much
    while (depth > 0 && logarithm(hot.nest.operations * hot.trips(depth, depths)) < wanted) --depth;
    const double operations = hot.nest.operations * hot.trips(depth, depths);
    f.add("intensity_" + std::to_string(point),
          std::log2((1 + operations) / (1 + hot.footprint[depth])));
  }
}

void add_access(Features& f, const NestFootprint& hot, const Access* access, std::size_t place) {
  const std::string name = "access_" + std::to_string(place) + "_";
  if (!access) {
    for (const char* what :
         {"store", "log_bytes", "log_task_bytes", "log_unique_bytes", "log_task_reuse",
          "log_stride", "log_run_bytes", "line_use", "log_reuse_distance"}) {
      f.add(name + what, 0);
    }
    return;
  }
  const std::size_t task = depth_of_task(hot);
  const double element = access->buffer->type.bytes();
  const double moved = hot.nest.times * access->lanes * element;
  const Footprint whole = footprint(*access, hot.inside(0), hot.line_bytes);
  const Footprint of_task = footprint(*access, hot.inside(task), hot.line_bytes);
  const Footprint of_body = footprint(*access, hot.inside(hot.body), hot.line_bytes);
  double stride = 0, distance = 0;
  if (hot.body > 0) {
    stride = std::fabs(access->movement.coefficient(hot.nest.loops[hot.body - 1].var)) * element;
  }
  // What is touched between two uses of the same data.
  for (std::size_t depth = hot.body; depth-- > 0;) {
    if (access->movement.coefficient(hot.nest.loops[depth].var) != 0) continue;
    distance = hot.footprint[depth + 1];
    break;
  }
  f.add(name + "store", access->store);
  f.log(name + "bytes", moved);
  f.log(name + "task_bytes", of_task.bytes);
  f.log(name + "unique_bytes", whole.bytes);
  f.log(name + "task_reuse", moved / std::max(1.0, hot.trips(0, task)) / of_task.bytes);
  f.log(name + "stride", stride);
  f.log(name + "run_bytes", of_body.run_bytes);
  f.add(name + "line_use", of_task.bytes / (of_task.lines * hot.line_bytes));
  f.log(name + "reuse_distance", distance);
}

void add_accesses(Features& f, const NestFootprint& hot) {
  std::vector<std::pair<double, const Access*>> largest;
  for (const Access& access : hot.nest.accesses) {
    largest.emplace_back(footprint(access, hot.inside(0), hot.line_bytes).bytes, &access);
  }
  std::stable_sort(largest.begin(), largest.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t i = 0; i < kAccesses; ++i) {
    add_access(f, hot, i < largest.size() ? largest[i].second : nullptr, i);
  }
}

void add_parallel(Features& f, const NestFootprint& hot, const space::CpuTarget& target) {
  const bool parallel =
      !hot.nest.loops.empty() && hot.nest.loops.front().kind == ir::ForKind::Parallel;
  const double tasks = parallel ? hot.nest.loops.front().extent : 1;
  const double threads = std::max(1, target.threads);
  f.log("tasks", tasks);
  f.log("operations_per_task", hot.nest.operations * hot.nest.times / tasks);
  f.add("thread_balance", tasks / (std::ceil(tasks / threads) * threads));
}

void add_work(Features& f, const CoreWork& work, const space::CpuTarget& target) {
  f.log("arithmetic_cycles", work.arithmetic);
  f.log("load_cycles", work.loads);
  f.log("latency_cycles", work.latency);
  f.log("spills", work.spills);
  f.log("masked_loads", work.masked);
  f.log("reloaded", work.reloaded);
  f.log("reloaded_spread", work.reloaded_spread);
  f.log("shuffles", work.shuffles);
  f.log("unaligned", work.unaligned);
  f.log("instructions", work.code);
  f.log("bodies_of_all", work.bodies);
  for (int level = 1; level <= kCacheLevels; ++level) {
    f.log("l" + std::to_string(level) + "_traffic_of_all", work.traffic[level - 1]);
  }
  f.log("estimated_cycles", estimated_cycles(work, target));
}

Features all_features(const ir::Module& module, const space::CpuTarget& target) {
  CoreWork work;
  std::vector<LoopNest> nests;
  std::size_t hottest = 0;
  double register_bytes = 0, branches = 0, launches = 0;
  double operations = 0, vector_operations = 0, moved = 0, stored = 0, iterations = 0, code = 0;
  double heat = -1, accesses = 0;
  for (const ir::Launch& launch : module.launches) {
    if (launch.prepare) continue;
    launches += 1;
    LoopNests found = loop_nests(module.functions[launch.function]);
    register_bytes = std::max(register_bytes, found.register_bytes);
    branches += found.branches;
    for (LoopNest& nest : found.nests) {
      work.add(nest, target);
      operations += nest.operations * nest.times;
      vector_operations += nest.vector_operations * nest.times;
      double unrolled = 1;
      for (const LoopTrip& loop : nest.loops) {
        if (loop.kind == ir::ForKind::Unrolled) unrolled *= loop.extent;
      }
      code += unrolled;
      iterations += nest.times / unrolled;
      for (const Access& access : nest.accesses) {
        const double bytes = nest.times * access.lanes * access.buffer->type.bytes();
        (access.store ? stored : moved) += bytes;
      }
      const double warmth = nest.times * (nest.vector_operations + 1e-3);
      if (warmth > heat) heat = warmth, hottest = nests.size();
      accesses += nest.times * double(nest.accesses.size());
      nests.push_back(std::move(nest));
    }
  }
  work.branches = branches;
  if (nests.empty()) nests.emplace_back();
  const double line = cache_line_bytes(target);
  const NestFootprint hot(nests[hottest], line);
  work.add_traffic(hot, target);
  for (std::size_t i = 0; i < nests.size(); ++i) {
    const double share = nests[i].times * double(nests[i].accesses.size());
    if (i != hottest && share >= kLeastShare * accesses) {
      work.add_traffic(NestFootprint(std::move(nests[i]), line), target);
    }
  }
  double scratch = 0, memory = 0;
  for (const ir::ProgramBuffer& b : module.buffers) {
    const double bytes = double(b.buffer->elements()) * b.buffer->type.bytes();
    (b.role == ir::Role::Scratch ? scratch : memory) += bytes;
  }
  Features f;
  f.log("operations", operations);
  f.log("vector_operations", vector_operations);
  f.log("loaded_bytes", moved);
  f.log("stored_bytes", stored);
  f.log("iterations", iterations);
  f.log("code", code);
  f.log("branches", branches);
  f.log("scratch_bytes", scratch);
  f.log("memory_bytes", memory);
  f.add("launches", launches);
  f.add("hot_share", hot.nest.operations * hot.nest.times / std::max(1.0, operations));
  add_registers(f, hot, register_bytes, target);
  add_caches(f, hot, target);
  add_intensity(f, hot);
  add_parallel(f, hot, target);
  add_accesses(f, hot);
  add_work(f, work, target);
  return f;
}

}  // namespace

std::vector<float> program_features(const ir::Module& loops, const space::CpuTarget& target) {
  return all_features(loops, target).values;
}

std::vector<std::string> feature_names() { return all_features({}, {}).names; }

std::size_t feature_index(const std::string& name) {
  const std::vector<std::string> names = feature_names();
  const auto found = std::find(names.begin(), names.end(), name);
  assert(found != names.end());
  return static_cast<std::size_t>(found - names.begin());
}

Result<std::vector<float>> features_of(const space::CpuSpace& task,
                                       const space::Configuration& configuration) {
  auto loops = lower_loops(task, configuration);
  if (!loops) return std::move(loops).error();
  return program_features(*loops, task.target());
}

}  // namespace fettle::lower
