// Timing launches apart and reading their hot loop (time_split.h).
#include "tests/bench/kernels/time_split.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "host/backend/backend.h"
#include "host/backend/calibration.h"
#include "host/backend/cpu_llvm/disassemble.h"
#include "host/backend/cpu_llvm/throughput.h"
#include "tests/bench/kernels/our_kernel.h"

namespace fettle::bench {
namespace {

namespace cpu = backend::cpu_llvm;

constexpr double kSampleNs = 3e6;
constexpr int kSamples = 9;

Result<LoopFigures> loop_of(const wire::ImageT& image, const space::CpuTarget& target) {
  auto code = cpu::disassemble(image, target);
  if (!code) return std::move(code).error();
  LoopFigures figures;
  const auto loop = cpu::densest_loop(*code, target);
  if (loop.empty()) return figures;
  const cpu::CodeCounts counts = cpu::count(loop, target.arch);
  figures.instructions = counts.instructions;
  figures.multiply_adds = target.fma ? counts.fused : counts.multiplies;
  figures.loads = counts.loads;
  figures.stores = counts.stores;
  figures.stack_accesses = counts.stack_accesses;
  const std::uint64_t begin = loop.front().offset;
  const std::uint64_t bytes = loop.back().offset + loop.back().bytes - begin;
  const auto estimate =
      cpu::static_throughput(std::span(image.bytes).subspan(begin, bytes), target);
  if (!estimate) return figures;
  figures.cycles = estimate->cycles;
  figures.model = estimate->model;
  return figures;
}

// Nanoseconds of each Run launch of the program, the least of some samples: whatever else the
// machine does only adds to it.
Result<std::vector<double>> least_times(agent::Device& device, const wire::ProgramT& program,
                                        unsigned threads) {
  agent::PrepareOptions options;
  options.threads = threads;
  auto prepared = device.prepare(program, options, [](const wire::Hash&) { return ByteView(); });
  if (!prepared) return std::move(prepared).error();
  std::vector<double> least;
  std::uint32_t runs = 1;
  for (int i = 0; i < kSamples; ++i) {
    auto sample = device.run(runs, /*launch_ticks=*/true);
    if (!sample) return std::move(sample).error();
    least.resize(sample->launch_ticks.size(), INFINITY);
    double all = 0;
    for (std::size_t launch = 0; launch < least.size(); ++launch) {
      const auto ticks = static_cast<double>(sample->launch_ticks[launch]);
      all += least[launch] = std::min(least[launch], ticks / runs);
    }
    runs = static_cast<std::uint32_t>(std::clamp(kSampleNs / std::max(all, 1.0), 1.0, 1e6));
  }
  return least;
}

}  // namespace

Result<Peak> measure_peak(agent::Device& device, const space::CpuTarget& target) {
  auto programs = backend::calibration_programs(target.target());
  if (!programs) return std::move(programs).error();
  Peak peak;
  for (const backend::CalibrationProgram& each : *programs) {
    if (each.ceiling != backend::Ceiling::Arithmetic || each.threads != target.threads) continue;
    auto times = least_times(device, each.program, static_cast<unsigned>(each.threads));
    if (!times) return std::move(times).error().in("measuring the peak");
    const double gflops = each.operations / times->at(0);
    if (gflops <= peak.gflops) continue;
    auto loop = loop_of(*each.program.images.front(), target);
    if (!loop) return std::move(loop).error();
    peak = {gflops, *loop};
  }
  if (peak.gflops > 0) return peak;
  return Error{ErrorCode::Unsupported, "no program measures the peak of this device", {}};
}

void split_time(TimeSplit& split, const Peak& peak) {
  double all = 0, longest = 0;
  for (const LaunchTime& launch : split.launches) {
    all += launch.nanoseconds;
    longest = std::max(longest, launch.nanoseconds);
  }
  if (all <= 0) return;
  split.hot_loop = 0;
  double left = 1;
  const auto take = [&](double share) {
    const double taken = std::clamp(share, 0.0, left);
    left -= taken;
    return taken;
  };
  split.other_launches = take((all - longest) / all);
  split.at_peak = take(split.operations / peak.gflops / all);
  if (split.loop.per_cycle() > 0 && peak.loop.per_cycle() > 0) {
    const double slower = peak.loop.per_cycle() / split.loop.per_cycle();
    split.hot_loop = take(split.at_peak * (slower - 1));
  }
  split.rest = left;
}

Result<TimeSplit> measure_time_split(agent::Device& device, const Layer& layer,
                                     const records::TuningRecord& record, unsigned threads,
                                     const Peak& peak) {
  auto built = rebuild(layer, record, threads);
  if (!built) return std::move(built).error();
  wire::ProgramT& program = *built->output.program;
  TimeSplit split;
  split.operations = built->output.facts->operations;
  auto times = least_times(device, program, threads);
  if (!times) return std::move(times).error();
  auto time = times->begin();
  for (const auto& launch : program.launches) {
    if (launch->phase != wire::Phase::Run) continue;
    const wire::ImageT& image = *program.images[launch->image];
    split.launches.push_back({image.entries[launch->entry]->name, *time++});
  }
  auto loop = loop_of(*program.images.front(), built->target);
  if (!loop) return std::move(loop).error();
  split.loop = *loop;
  split_time(split, peak);
  return split;
}

nlohmann::json to_json(const TimeSplit& split) {
  nlohmann::json object = {{"at_peak", split.at_peak},
                           {"hot_loop", split.hot_loop},
                           {"other_launches", split.other_launches},
                           {"rest", split.rest},
                           {"operations", split.operations}};
  for (const LaunchTime& launch : split.launches) {
    object["launches"].push_back({{"name", launch.name}, {"ns", launch.nanoseconds}});
  }
  const LoopFigures& loop = split.loop;
  object["loop"] = {{"instructions", loop.instructions},
                    {"multiply_adds", loop.multiply_adds},
                    {"loads", loop.loads},
                    {"stores", loop.stores},
                    {"stack_accesses", loop.stack_accesses}};
  if (loop.cycles > 0) {
    object["loop"]["estimated_cycles"] = loop.cycles;
    object["loop"]["model"] = loop.model;
  }
  return object;
}

std::string hardware_counters() {
  perf_event_attr wanted{};
  wanted.type = PERF_TYPE_HARDWARE;
  wanted.size = sizeof wanted;
  wanted.config = PERF_COUNT_HW_INSTRUCTIONS;
  wanted.exclude_kernel = 1;
  const long file = syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0);
  if (file < 0) {
    return std::string("this machine gives no hardware counters (perf_event_open: ") +
           std::strerror(errno) + ")";
  }
  close(static_cast<int>(file));
  return "this machine has hardware counters, which are not read here";
}

}  // namespace fettle::bench
