// Runs on both cores (core_runs.h).
#include "tests/bench/vta/core_runs.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <numeric>
#include <optional>
#include <thread>

#include "runtime/vta/simulated_accelerator.h"
#include "tests/support/vta_board.h"
#ifdef FETTLE_BENCH_RTL
#include "runtime/vta/rtl_accelerator.h"
#endif

namespace fettle::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kMemoryBytes = std::uint64_t{64} << 20;

using Opening = Result<std::unique_ptr<runtime::Accelerator>> (*)(const vta::Design&,
                                                                  std::uint64_t memory_bytes);

// Null: this build has no Verilated core.
Opening verilated_core() {
#ifdef FETTLE_BENCH_RTL
  return runtime::make_rtl_accelerator;
#else
  return nullptr;
#endif
}

// "simulator: 12 of 100, about 0:40 left", by the share of the work that is done.
class Told {
 public:
  Told(const char* core, std::size_t all, double work) : core_(core), all_(all), work_(work) {}
  ~Told() {
    if (terminal_ && told_) std::fputs("\r\x1b[K", stderr);
  }
  void done(double work) {
    const std::lock_guard lock(mutex_);
    ++count_;
    done_ += work;
    const auto now = Clock::now();
    if (now - last_ < (terminal_ ? std::chrono::milliseconds(200) : std::chrono::seconds(20))) {
      return;
    }
    last_ = now;
    told_ = true;
    const std::chrono::duration<double> spent = now - begin_;
    const long left = static_cast<long>(spent.count() / done_ * (work_ - done_) + 0.5);
    std::fprintf(stderr, "%s%s: %zu of %zu run, about %ld:%02ld left%s", terminal_ ? "\r" : "",
                 core_, count_, all_, left / 60, left % 60, terminal_ ? "\x1b[K" : "\n");
  }

 private:
  const char* core_;
  const std::size_t all_;
  const double work_;
  const bool terminal_ = isatty(2) == 1;
  const Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;
  Clock::time_point last_ = begin_;
  std::size_t count_ = 0;
  double done_ = 0;
  bool told_ = false;
};

// The cycles of the program, whose output is right.
Result<std::uint64_t> run_on(testing::VtaBoard& board, const wire::ProgramT& program,
                             const Answers::Answer& answer) {
  auto loaded = board.load(program);
  if (!loaded) return std::move(loaded).error();
  auto cycles = loaded->run(1);
  if (!cycles) return cycles;
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i]->name != answer.buffer) continue;
    const auto output = loaded->buffers()[i]->data();
    if (std::equal(output.begin(), output.end(), answer.bytes.begin(), answer.bytes.end())) {
      return cycles;
    }
  }
  return Error{ErrorCode::WrongAnswer, "the output is not the reference's", {}};
}

class Pass {
 public:
  Pass(const std::vector<VtaLayer>& layers, Answers& answers, std::vector<CoreRun>& runs,
       const CoreRunOptions& options)
      : layers_(layers), answers_(answers), runs_(runs), options_(options) {}

  // `order`: places of runs. `cycles`: where the result goes.
  Result<void> run(Opening open, const char* name, std::vector<std::size_t> order,
                   std::uint64_t CoreRun::* cycles,
                   const std::function<double(const CoreRun&)>& work) {
    double all = 0;
    for (const std::size_t at : order) all += work(runs_[at]);
    Told told(name, order.size(), all);
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::optional<Error> failed;
    const auto take = [&] {
      auto core = open(options_.design, kMemoryBytes);
      if (!core) {
        const std::lock_guard lock(mutex);
        failed = std::move(core).error();
        return;
      }
      testing::VtaBoard board(std::move(*core));
      while (!options_.stop.requested()) {
        const std::size_t i = next++;
        if (i >= order.size()) return;
        CoreRun& run = runs_[order[i]];
        auto ran = one(board, run);
        if (ran) {
          run.*cycles = *ran;
        } else {
          run.wrong = std::string(name) + ": " + ran.error().text();
        }
        told.done(work(run));
      }
    };
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < options_.jobs; ++i) threads.emplace_back(take);
    take();
    threads.clear();
    if (failed) return std::move(*failed);
    if (options_.stop.requested() && next < order.size()) {
      return Error{ErrorCode::Canceled, "interrupted", {}};
    }
    return {};
  }

 private:
  Result<std::uint64_t> one(testing::VtaBoard& board, const CoreRun& run) {
    auto built = layers_[run.layer].task->build(run.configuration);
    if (!built) return std::move(built).error();
    auto answer = answers_.of(run.layer);
    if (!answer) return std::move(answer).error();
    return run_on(board, *built->program, **answer);
  }

  const std::vector<VtaLayer>& layers_;
  Answers& answers_;
  std::vector<CoreRun>& runs_;
  const CoreRunOptions& options_;
};

}  // namespace

Result<void> run_on_cores(const std::vector<VtaLayer>& layers, Answers& answers,
                          std::vector<CoreRun>& runs, const CoreRunOptions& options) {
  const Opening verilated = verilated_core();
  if (options.rtl && !verilated) {
    return Error{ErrorCode::Unsupported,
                 "built without Verilator: no Verilated core ('./dev setup' brings it)",
                 {}};
  }
  Pass pass(layers, answers, runs, options);
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), 0u);
  if (auto simulated = pass.run(runtime::make_simulated_accelerator, "simulator", order,
                                &CoreRun::estimated, [](const CoreRun&) { return 1.0; });
      !simulated || !options.rtl) {
    return simulated;
  }
  // The longest first, so that the threads end together.
  std::erase_if(order, [&](std::size_t at) { return !runs[at].wrong.empty(); });
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return runs[a].estimated > runs[b].estimated;
  });
  return pass.run(verilated, "Verilated core", order, &CoreRun::cycles,
                  [](const CoreRun& run) { return static_cast<double>(run.estimated); });
}

}  // namespace fettle::bench
