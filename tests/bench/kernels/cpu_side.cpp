// The CPU's side of the benchmark of kernels (cpu_side.h).
#include "tests/bench/kernels/cpu_side.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "host/process/run_program.h"
#include "tests/bench/kernels/onednn_peer.h"
#include "tests/bench/kernels/openblas_peer.h"
#include "tests/bench/kernels/openmp_threads.h"
#include "tests/bench/kernels/our_kernel.h"
#include "tests/bench/kernels/torch_peer.h"

namespace fettle::bench {
namespace {

// An OpenMP thread without work spins for some milliseconds before it sleeps.
constexpr double kPauseMs = 20;

// "always [madvise] never": whether there are any, of which both sides would have some.
std::string huge_pages() {
  std::string pages = process::read_file("/sys/kernel/mm/transparent_hugepage/enabled");
  while (pages.ends_with('\n')) pages.pop_back();
  return pages;
}

class CpuSide final : public KernelSide {
 public:
  CpuSide(std::unique_ptr<agent::Device> device, space::CpuTarget here,
          std::unique_ptr<TorchProcess> torch)
      : device_(std::move(device)), here_(std::move(here)), torch_(std::move(torch)) {}

  Result<void> measure_peak_here() {
    auto peak = measure_peak(*device_, here_);
    if (!peak) return std::move(peak).error();
    peak_ = std::make_unique<Peak>(std::move(*peak));
    return {};
  }

  std::string heading() const override {
    return fmt::format("{}, {} threads; oneDNN {} ({}); transparent huge pages: {}{}",
                       device_->info().name, here_.threads, onednn_version(),
                       onednn_instruction_set(), huge_pages(),
                       torch_ ? "; " + torch_->version() : "");
  }
  const char* fastest_title() const override { return torch_ ? "fastest peer" : "oneDNN"; }
  std::vector<PeerColumn> columns() const override {
    return {
        {"direct", "onednn", true}, {"plain", "onednn_plain", true}, {"BLAS", "openblas", false}};
  }
  void describe(nlohmann::json& summary) const override {
    summary["threads"] = here_.threads;
    summary["cpu"] = device_->info().name;
    summary["onednn"] = onednn_version();
    summary["onednn_instruction_set"] = onednn_instruction_set();
    summary["transparent_hugepages"] = huge_pages();
    if (torch_) summary["torch"] = torch_->version();
    if (!peak_) return;
    summary["peak_gflops"] = peak_->gflops;
    summary["hardware_counters"] = hardware_counters();
  }

  // Those tuned with other threads run, too.
  int fit(const std::string& recorded_target) const override {
    const auto target = space::CpuTarget::parse(recorded_target);
    if (!target || target->arch != here_.arch || target->cpu != here_.cpu ||
        target->features != here_.features) {
      return 0;
    }
    return target->threads == here_.threads ? 2 : 1;
  }
  int threads_of(const std::string& recorded_target) const override {
    const auto target = space::CpuTarget::parse(recorded_target);
    return target ? target->threads : 0;
  }

  Result<std::unique_ptr<Contender>> ours(const Layer& layer,
                                          const records::TuningRecord& record) override {
    return make_our_kernel(*device_, layer, record, threads());
  }

  std::vector<NamedPeer> peers(const Layer& layer) override {
    std::vector<NamedPeer> out;
    for (const OneDnnKind kind : {OneDnnKind::Any, OneDnnKind::Winograd, OneDnnKind::Plain}) {
      if (kind == OneDnnKind::Winograd && layer.kind != LayerKind::Convolution) continue;
      for (const OneDnnMemory memory : {OneDnnMemory::Own, OneDnnMemory::HugePages}) {
        out.push_back({onednn_peer_name(kind, memory), make_onednn_peer(layer, kind, memory)});
      }
    }
    if (layer.kind == LayerKind::Dense) {
      out.push_back({"openblas", make_openblas_peer(layer, threads())});
    }
    if (torch_) {
      for (NamedPeer& way : make_torch_peers(*torch_, layer)) out.push_back(std::move(way));
    }
    return out;
  }

  double pause_ms() const override { return here_.threads > 1 ? kPauseMs : 0; }
  const Peak* peak() const override { return peak_.get(); }
  Result<TimeSplit> split(const Layer& layer, const records::TuningRecord& record) override {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(pause_ms()));
    return measure_time_split(*device_, layer, record, threads(), *peak_);
  }

 private:
  unsigned threads() const { return static_cast<unsigned>(here_.threads); }

  std::unique_ptr<agent::Device> device_;
  space::CpuTarget here_;  // this machine's CPU with the threads wanted
  std::unique_ptr<TorchProcess> torch_;
  std::unique_ptr<Peak> peak_;
};

}  // namespace

Result<std::unique_ptr<KernelSide>> open_cpu_side(unsigned threads, bool why,
                                                  const std::string& torch) {
  auto device = open_local_cpu(threads);
  if (!device) return std::move(device).error();
  const std::vector<std::uint32_t>& cores = (*device)->info().cpu->cores;
  auto here = space::cpu_target_for((*device)->info(), static_cast<int>(cores.size()));
  if (!here) return std::move(here).error();
  const unsigned peer_threads = pin_openmp_threads(cores);
  if (peer_threads != cores.size()) {
    return Error{ErrorCode::Internal,
                 fmt::format("OpenMP started {} threads, {} wanted", peer_threads, cores.size()),
                 {}};
  }
  std::unique_ptr<TorchProcess> process;
  if (!torch.empty()) {
    auto started = TorchProcess::start(torch, TorchDevice::Cpu, {cores.begin(), cores.end()});
    if (!started) return std::move(started).error();
    process = std::move(*started);
  }
  auto side = std::make_unique<CpuSide>(std::move(*device), std::move(*here), std::move(process));
  if (why) {
    if (auto done = side->measure_peak_here(); !done) return std::move(done).error();
  }
  return std::unique_ptr<KernelSide>(std::move(side));
}

}  // namespace fettle::bench
