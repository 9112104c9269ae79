// A CUDA device's side of the benchmark of kernels (cuda_side.h).
#include "tests/bench/kernels/cuda_side.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "agent/device/cuda/cuda_device.h"
#include "agent/device/cuda/cuda_row.h"
#include "host/backend/backend.h"
#include "tests/bench/kernels/our_kernel.h"
#include "tests/bench/kernels/torch_peer.h"

namespace fettle::bench {
namespace {

class CudaSide final : public KernelSide {
 public:
  CudaSide(std::unique_ptr<agent::Device> device, std::unique_ptr<TorchProcess> torch,
           space::Target here)
      : device_(std::move(device)), torch_(std::move(torch)), here_(std::move(here)) {}

  std::string heading() const override {
    return fmt::format("{} ({}); {}", device_->info().name, device_->info().gpu->api_version,
                       torch_->version());
  }
  const char* fastest_title() const override { return "PyTorch"; }
  std::vector<PeerColumn> columns() const override { return {}; }
  void describe(nlohmann::json& summary) const override {
    summary["device"] = device_->info().name;
    summary["api"] = device_->info().gpu->api_version;
    summary["torch"] = torch_->version();
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
    return make_torch_peers(*torch_, layer);
  }
  double pause_ms() const override { return 0; }
  const Peak* peak() const override { return nullptr; }
  Result<TimeSplit> split(const Layer&, const records::TuningRecord&) override {
    return Error{ErrorCode::Unsupported, "where a CUDA kernel's time goes is not known", {}};
  }

 private:
  std::unique_ptr<agent::Device> device_;
  std::unique_ptr<TorchProcess> torch_;
  space::Target here_;
};

}  // namespace

Result<std::unique_ptr<KernelSide>> open_cuda_side(const std::string& torch) {
  agent::DeviceConfig config;
  config.kind = wire::DeviceKind::Cuda;
  config.key = "local-cuda";
  auto device = agent::open_cuda(agent::describe_cuda(config, agent::SystemRoot()));
  if (!device) {
    return Error{
        device.error().code, "no CUDA device to compare kernels on: " + device.error().text(), {}};
  }
  if (torch.empty()) {
    return Error{ErrorCode::InvalidArgument,
                 "--torch names a Python that has PyTorch, with whose cuDNN and cuBLAS kernels of "
                 "CUDA are compared",
                 {}};
  }
  auto here = backend::target_for((*device)->info());
  if (!here) return std::move(here).error();
  auto peer = TorchProcess::start(torch, TorchDevice::Cuda, {});
  if (!peer) return std::move(peer).error();
  return std::unique_ptr<KernelSide>(
      std::make_unique<CudaSide>(std::move(*device), std::move(*peer), std::move(*here)));
}

}  // namespace fettle::bench
