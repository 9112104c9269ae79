// An OpenCL device's side of the benchmark of kernels (opencl_side.h).
#include "tests/bench/kernels/opencl_side.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "agent/device/opencl/opencl_device.h"
#include "agent/device/opencl/opencl_row.h"
#include "agent/platform/cpu_facts.h"
#include "host/backend/backend.h"
#include "tests/bench/kernels/clblast_peer.h"
#include "tests/bench/kernels/our_kernel.h"

namespace fettle::bench {
namespace {

class OpenClSide final : public KernelSide {
 public:
  OpenClSide(std::unique_ptr<agent::Device> device, std::unique_ptr<ClBlastDevice> peer,
             space::Target here)
      : device_(std::move(device)), peer_(std::move(peer)), here_(std::move(here)) {}

  std::string heading() const override {
    return fmt::format("{} ({}); CLBlast with the parameters that it has for the device",
                       device_->info().name, device_->info().gpu->api_version);
  }
  const char* fastest_title() const override { return "CLBlast"; }
  std::vector<PeerColumn> columns() const override { return {}; }
  void describe(nlohmann::json& summary) const override {
    summary["device"] = device_->info().name;
    summary["api"] = device_->info().gpu->api_version;
  }
  int fit(const std::string& recorded_target) const override {
    const auto target = space::Target::parse(recorded_target);
    if (!target || target->backend() != here_.backend()) return 0;
    return *target == here_ ? 2 : 1;
  }
  int threads_of(const std::string&) const override { return 0; }

  Result<std::unique_ptr<Contender>> ours(const Layer& layer,
                                          const records::TuningRecord& record) override {
    auto built = build(layer, record.configuration, here_);
    if (!built) return std::move(built).error();
    return make_built_kernel(*device_, layer, std::move(*built), record.configuration, 1);
  }
  std::vector<NamedPeer> peers(const Layer& layer) override {
    std::vector<NamedPeer> out;
    out.push_back({"clblast", make_clblast_peer(*peer_, layer, SecondFactor::AsGiven)});
    // Where the other is no peer, this one says no more.
    if (!out.back().made || layer.kind == LayerKind::BatchMatmul) return out;
    out.push_back(
        {"clblast_transposed", make_clblast_peer(*peer_, layer, SecondFactor::Transposed)});
    return out;
  }
  double pause_ms() const override { return 0; }
  const Peak* peak() const override { return nullptr; }
  Result<TimeSplit> split(const Layer&, const records::TuningRecord&) override {
    return Error{ErrorCode::Unsupported, "where an OpenCL kernel's time goes is not known", {}};
  }

 private:
  std::unique_ptr<agent::Device> device_;
  std::unique_ptr<ClBlastDevice> peer_;
  space::Target here_;
};

}  // namespace

Result<std::unique_ptr<KernelSide>> open_opencl_side(unsigned threads) {
  agent::DeviceConfig config;
  config.kind = wire::DeviceKind::OpenCl;
  config.key = "local-opencl";
  const std::vector<std::uint32_t> cores = agent::usable_cores();
  if (threads > cores.size()) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("{} threads wanted, this process may use {} cores", threads, cores.size()),
        {}};
  }
  // The last ones, as `fettle tune` takes them.
  if (threads > 0) config.cores.assign(cores.end() - threads, cores.end());
  auto device = agent::open_opencl(agent::describe_opencl(config, agent::SystemRoot()));
  if (!device) return std::move(device).error();
  auto here = backend::target_for((*device)->info());
  if (!here) return std::move(here).error();
  auto peer = ClBlastDevice::open();
  if (!peer) return std::move(peer).error();
  if ((*peer)->name() != (*device)->info().name) {
    return Error{ErrorCode::Internal,
                 "CLBlast would run on " + (*peer)->name() + ", ours on " + (*device)->info().name,
                 {}};
  }
  return std::unique_ptr<KernelSide>(
      std::make_unique<OpenClSide>(std::move(*device), std::move(*peer), std::move(*here)));
}

}  // namespace fettle::bench
