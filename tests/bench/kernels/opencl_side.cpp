// An OpenCL device's side of the benchmark of kernels (opencl_side.h).
#include "tests/bench/kernels/opencl_side.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "agent/device/opencl/opencl_device.h"
#include "agent/device/opencl/opencl_row.h"
#include "agent/platform/cpu_facts.h"
#include "host/backend/backend.h"
#include "tests/bench/kernels/clblast_peer.h"
#include "tests/bench/kernels/gpu_side.h"

namespace fettle::bench {
namespace {

class OpenClSide final : public GpuSide {
 public:
  OpenClSide(std::unique_ptr<agent::Device> device, std::unique_ptr<ClBlastDevice> peer,
             space::Target here)
      : GpuSide(std::move(device), std::move(here)), peer_(std::move(peer)) {}

  std::string heading() const override {
    return fmt::format("{} ({}); CLBlast with the parameters that it has for the device",
                       info().name, info().gpu->api_version);
  }
  const char* fastest_title() const override { return "CLBlast"; }
  std::vector<NamedPeer> peers(const Layer& layer) override {
    std::vector<NamedPeer> out;
    out.push_back({"clblast", make_clblast_peer(*peer_, layer, SecondFactor::AsGiven)});
    // Where the other is no peer, this one says no more.
    if (!out.back().made || layer.kind == LayerKind::BatchMatmul) return out;
    out.push_back(
        {"clblast_transposed", make_clblast_peer(*peer_, layer, SecondFactor::Transposed)});
    return out;
  }

 private:
  std::unique_ptr<ClBlastDevice> peer_;
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
