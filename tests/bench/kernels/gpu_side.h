// What a GPU's side of the benchmark of kernels is, whoever its peers are.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "agent/device/device.h"
#include "host/space/target.h"
#include "tests/bench/kernels/kernel_side.h"
#include "tests/bench/kernels/our_kernel.h"

namespace fettle::bench {

class GpuSide : public KernelSide {
 public:
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
  double pause_ms() const override { return 0; }
  const Peak* peak() const override { return nullptr; }
  Result<TimeSplit> split(const Layer&, const records::TuningRecord&) override {
    return Error{ErrorCode::Unsupported, "where a GPU kernel's time goes is not known", {}};
  }

 protected:
  GpuSide(std::unique_ptr<agent::Device> device, space::Target here)
      : device_(std::move(device)), here_(std::move(here)) {}
  const wire::DeviceInfoT& info() const { return device_->info(); }

 private:
  std::unique_ptr<agent::Device> device_;
  space::Target here_;
};

}  // namespace fettle::bench
