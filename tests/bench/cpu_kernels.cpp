// cpu_kernels: how good this machine's kernels are and how long they take to build,
// without agent, broker and search. For work on the compiler; prints JSON lines.
// Layers are ResNet-18's, or those of `--network NAME` as the first two arguments.
//   cpu_kernels ceilings                 what the calibration programs reach here
//   cpu_kernels layers [N [SEED [ARCH]]] N random configurations of each layer;
//                                        ARCH armv7 or aarch64: only built
//   cpu_kernels climb PLACE N [SKETCH [SEED]]  N configurations of one layer, of SKETCH only
//                                        unless "": a third random, then changes of the best
//   cpu_kernels one PLACE JSON [PASS [ARCH]]  one layer with one configuration; PASS: print
//                                        the IR after it, "": final IR, assembly, counts
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <random>

#include <nlohmann/json.hpp>

#include "host/backend/backend.h"
#include "host/backend/calibration.h"
#include "host/backend/cpu_llvm/codegen.h"
#include "host/lower/cpu/lowering.h"
#include "host/model/task_list.h"
#include "host/space/sketches/sketches.h"
#include "host/space/workload.h"
#include "tests/support/native_run.h"

namespace fettle::testing {
namespace {

using Clock = std::chrono::steady_clock;

std::string network_name = "resnet-18";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// CPU time of this thread, so that a busy machine does not count.
double cpu_milliseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// "": this machine.
space::CpuTarget target_of(const std::string& arch) {
  return arch == "armv7" ? armv7_target() : arch == "aarch64" ? aarch64_target() : native_target();
}

// How long the steps of one build take.
struct BuildTimes {
  std::vector<double> lower, compile, all;
  Result<void> add(const space::CpuSpace& task, const space::CpuTarget& target,
                   const space::Configuration& c) {
    const double start = cpu_milliseconds();
    Result<ir::Module> module = lower::lower_configuration(task, c);
    const double lowered = cpu_milliseconds();
    if (!module) return std::move(module).error();
    auto compiler = backend::cpu_llvm::Compiler::make(target);
    if (!compiler) return std::move(compiler).error();
    auto object = (*compiler)->compile(*module);
    const double compiled = cpu_milliseconds();
    if (!object) return std::move(object).error();
    lower.push_back(lowered - start), compile.push_back(compiled - lowered);
    return {};
  }
};

// Fewest seconds of one run among those that fit in `budget`, at least three.
double best_seconds(NativeProgram& program, double budget) {
  double best = 1e30;
  const Clock::time_point begin = Clock::now();
  for (int run = 0; run < 3 || seconds_since(begin) < budget; ++run) {
    const Clock::time_point start = Clock::now();
    program.run(wire::Phase::Run);
    best = std::min(best, seconds_since(start));
  }
  return best;
}

int ceilings() {
  Result<std::vector<backend::CalibrationProgram>> programs =
      backend::calibration_programs(native_target().target());
  if (!programs) return std::fprintf(stderr, "%s\n", programs.error().text().c_str()), 1;
  for (const backend::CalibrationProgram& each : *programs) {
    Result<NativeProgram> loaded = NativeProgram::load(each.program);
    if (!loaded) return std::fprintf(stderr, "%s\n", loaded.error().text().c_str()), 1;
    loaded->run(wire::Phase::Prepare);
    loaded->run(wire::Phase::Run);
    const double seconds = best_seconds(*loaded, 0.1);
    nlohmann::json line = {{"ceiling", each.name}, {"microseconds", seconds * 1e6}};
    if (each.ceiling == backend::Ceiling::Arithmetic)
      line["gflops"] = each.operations / seconds * 1e-9;
    if (each.ceiling == backend::Ceiling::Bandwidth)
      line["gbytes_per_second"] = each.bytes / seconds * 1e-9;
    std::printf("%s\n", line.dump().c_str());
  }
  return 0;
}

// Builds and runs `count` random configurations of each distinct layer, one core.
int layers(int count, std::uint64_t seed, const std::string& arch) {
  Result<model::TaskList> network = model::load_network(network_name);
  if (!network) return std::fprintf(stderr, "%s\n", network.error().text().c_str()), 1;
  const space::CpuTarget target = target_of(arch);
  const bool runs = target.arch == native_target().arch;
  std::vector<double> build_ms;
  BuildTimes times;
  for (const space::Task& task : network->tasks) {
    const auto opened = backend::open_task(task.workload.dag(), target.target());
    if (!opened) return std::fprintf(stderr, "%s\n", opened.error().text().c_str()), 1;
    const space::SearchSpace* space = &(*opened)->space();
    const auto lowered = space::open_cpu_space(task.workload.dag(), target);
    std::mt19937_64 rng(seed);
    double best = 0;
    std::string best_configuration, last_error;
    int failed = 0;
    for (int i = 0; i < count; ++i) {
      const space::Configuration configuration = space->random(rng);
      const Clock::time_point start = Clock::now();
      const double cpu_start = cpu_milliseconds();
      Result<wire::BuildOutputT> built = (*opened)->build(configuration);
      build_ms.push_back(seconds_since(start) * 1e3);
      times.all.push_back(cpu_milliseconds() - cpu_start);
      if (!built || !times.add(*lowered, target, configuration)) {
        ++failed, last_error = built.error().text();
        continue;
      }
      if (!runs) continue;
      Result<NativeProgram> loaded = NativeProgram::load(*built->program);
      if (!loaded) return std::fprintf(stderr, "%s\n", loaded.error().text().c_str()), 1;
      loaded->run(wire::Phase::Prepare);
      const double gflops = task.workload.operations() / best_seconds(*loaded, 0.005) * 1e-9;
      if (gflops > best) best = gflops, best_configuration = space->to_json(configuration);
    }
    nlohmann::json line = {{"layer", task.workload.title()},
                           {"best_gflops", best},
                           {"failed", failed},
                           {"space", space->size()}};
    if (best > 0) line["configuration"] = nlohmann::json::parse(best_configuration);
    if (failed > 0) line["last_error"] = last_error;
    std::printf("%s\n", line.dump().c_str());
    std::fflush(stdout);
  }
  std::sort(build_ms.begin(), build_ms.end());
  const nlohmann::json summary = {{"builds", build_ms.size()},
                                  {"build_ms_median", build_ms[build_ms.size() / 2]},
                                  {"build_ms_p90", build_ms[build_ms.size() * 9 / 10]},
                                  {"build_ms_max", build_ms.back()},
                                  {"cpu_ms_median", median(times.all)},
                                  {"lower_cpu_ms_median", median(times.lower)},
                                  {"compile_cpu_ms_median", median(times.compile)}};
  std::printf("%s\n", summary.dump().c_str());
  return 0;
}

int climb(std::size_t place, int count, const std::string& sketch, std::uint64_t seed) {
  Result<model::TaskList> network = model::load_network(network_name);
  if (!network) return std::fprintf(stderr, "%s\n", network.error().text().c_str()), 1;
  const space::CpuTarget target = native_target();
  const space::Workload& workload = network->tasks.at(place).workload;
  const auto opened = backend::open_task(workload.dag(), target.target());
  if (!opened) return std::fprintf(stderr, "%s\n", opened.error().text().c_str()), 1;
  const space::SearchSpace* space = &(*opened)->space();
  std::mt19937_64 rng(seed);
  space::Configuration best;
  double best_gflops = 0;
  int failed = 0;
  for (int i = 0; i < count; ++i) {
    space::Configuration next =
        i > count / 3 && best_gflops > 0 ? space->mutate(best, rng) : space->random(rng);
    for (int tries = 0; !sketch.empty() && tries < 10000 &&
                        space->sketches()[next.sketch].name.find(sketch) == std::string::npos;
         ++tries) {
      next = space->random(rng);
    }
    Result<wire::BuildOutputT> built = (*opened)->build(next);
    if (!built) {
      if (++failed == 1) std::fprintf(stderr, "%s\n", built.error().text().c_str());
      continue;
    }
    Result<NativeProgram> loaded = NativeProgram::load(*built->program);
    if (!loaded) return std::fprintf(stderr, "%s\n", loaded.error().text().c_str()), 1;
    loaded->run(wire::Phase::Prepare);
    const double gflops = workload.operations() / best_seconds(*loaded, 0.01) * 1e-9;
    if (gflops > best_gflops) best_gflops = gflops, best = next;
  }
  const nlohmann::json line = {{"layer", workload.title()},
                               {"best_gflops", best_gflops},
                               {"failed", failed},
                               {"configuration", nlohmann::json::parse(space->to_json(best))}};
  std::printf("%s\n", line.dump().c_str());
  return 0;
}

// One layer (by its place in the list) with one configuration: its speed, or with
// "explain" all that the back end says of it.
int one(std::size_t place, const std::string& json, const char* dump, const std::string& arch) {
  Result<model::TaskList> network = model::load_network(network_name);
  if (!network) return std::fprintf(stderr, "%s\n", network.error().text().c_str()), 1;
  const space::CpuTarget target = target_of(arch);
  const space::Workload& workload = network->tasks.at(place).workload;
  const auto opened = backend::open_task(workload.dag(), target.target());
  if (!opened) return std::fprintf(stderr, "%s\n", opened.error().text().c_str()), 1;
  const space::SearchSpace* space = &(*opened)->space();
  Result<space::Configuration> configuration = space->parse(json);
  if (!configuration) return std::fprintf(stderr, "%s\n", configuration.error().text().c_str()), 1;
  if (dump != nullptr) {
    Result<std::string> text = (*opened)->explain(*configuration, dump);
    std::printf("%s\n", text.ok() ? text->c_str() : text.error().text().c_str());
    return text.ok() ? 0 : 1;
  }
  Result<wire::BuildOutputT> built = (*opened)->build(*configuration);
  if (!built) return std::fprintf(stderr, "%s\n", built.error().text().c_str()), 1;
  Result<NativeProgram> loaded = NativeProgram::load(*built->program);
  loaded->run(wire::Phase::Prepare);
  std::printf("%s: %.1f GFLOPS\n", workload.title().c_str(),
              workload.operations() / best_seconds(*loaded, 0.3) * 1e-9);
  return 0;
}

}  // namespace
}  // namespace fettle::testing

int main(int argc, char** argv) {
  if (argc > 2 && std::string(argv[1]) == "--network") {
    fettle::testing::network_name = argv[2];
    argc -= 2, argv += 2;
  }
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "ceilings") return fettle::testing::ceilings();
  if (what == "layers") {
    const int count = argc > 2 ? std::atoi(argv[2]) : 20;
    return fettle::testing::layers(std::max(count, 1),
                                   argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1,
                                   argc > 4 ? argv[4] : "");
  }
  if (what == "climb" && argc > 3) {
    return fettle::testing::climb(std::strtoull(argv[2], nullptr, 10), std::atoi(argv[3]),
                                  argc > 4 ? argv[4] : "",
                                  argc > 5 ? std::strtoull(argv[5], nullptr, 10) : 1);
  }
  if (what == "one" && argc > 3) {
    return fettle::testing::one(std::strtoull(argv[2], nullptr, 10), argv[3],
                                argc > 4 ? argv[4] : nullptr, argc > 5 ? argv[5] : "");
  }
  std::fprintf(stderr,
               "usage: cpu_kernels [--network NAME] ceilings | layers [N [SEED [ARCH]]] | climb "
               "PLACE N [SKETCH "
               "[SEED]] | one PLACE CONFIGURATION [PASS | \"\" [ARCH]]\n");
  return 2;
}
