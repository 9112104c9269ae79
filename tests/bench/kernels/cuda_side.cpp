// A CUDA device's side of the benchmark of kernels (cuda_side.h).
#include "tests/bench/kernels/cuda_side.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "agent/device/cuda/cuda_device.h"
#include "agent/device/cuda/cuda_row.h"
#include "host/backend/backend.h"
#include "tests/bench/kernels/gpu_side.h"
#include "tests/bench/kernels/torch_peer.h"

namespace fettle::bench {
namespace {

class CudaSide final : public GpuSide {
 public:
  CudaSide(std::unique_ptr<agent::Device> device, std::unique_ptr<TorchProcess> torch,
           space::Target here)
      : GpuSide(std::move(device), std::move(here)), torch_(std::move(torch)) {}

  std::string heading() const override {
    return fmt::format("{} ({}); {}", info().name, info().gpu->api_version, torch_->version());
  }
  const char* fastest_title() const override { return "PyTorch"; }
  void describe(nlohmann::json& summary) const override {
    GpuSide::describe(summary);
    summary["torch"] = torch_->version();
  }
  std::vector<NamedPeer> peers(const Layer& layer) override {
    return make_torch_peers(*torch_, layer);
  }

 private:
  std::unique_ptr<TorchProcess> torch_;
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
