// Choosing, building and expecting (check_kernel.h).
#include "host/app/check_kernel.h"

#include "host/app/hardware_options.h"
#include "host/backend/backend.h"
#include "host/network/schedules.h"
#include "host/tune/measure_request.h"
#include "host/tune/tune.h"
#include "schemas/wire/content_hash.h"

namespace fettle::app {
namespace {

// The first that a device can run. A sum of 256 products for each output shows a wrong unit, and
// lasts some hundred microseconds on a small core.
constexpr const char* kKernels[] = {
    R"({"op": "dense", "batch": 64, "in_features": 256, "out_features": 128, "dtype": "float32"})",
    R"({"op": "dense", "batch": 16, "in_features": 256, "out_features": 128, "dtype": "int8",)"
    R"( "layout": "1n16c"})"};
constexpr std::size_t kSchedules = 4;  // that may turn out not to be built

Result<wire::BuildOutputT> build(const space::Workload& workload, const space::Target& target) {
  const auto task = backend::open_task(workload, target);
  if (!task) return task.error();
  Error last{ErrorCode::Unsupported, "no schedule of it can be built"};
  for (const auto& schedule : network::Schedules(target).of(workload, **task, kSchedules)) {
    auto built = (*task)->build(schedule.configuration);
    if (built) return built;
    last = built.error();
  }
  return last;
}

}  // namespace

Result<CheckKernel> check_kernel(const wire::DeviceInfoT& device) {
  const auto target = target_of(device, {});
  if (!target) return target.error();
  Error last{ErrorCode::Unsupported, "no kernel"};
  for (const char* text : kKernels) {
    const auto workload = space::Workload::parse(std::string(text));
    if (!workload) return workload.error();
    auto output = build(*workload, *target);
    if (!output) {
      last = output.error();
      continue;
    }
    auto expected = tune::evaluate_expected(*workload, {});
    if (!expected) return std::move(expected).error();
    wire::MeasureOptionsT options = tune::default_measuring();
    options.threads = static_cast<std::uint32_t>(target->threads());
    auto request = tune::measure_request(*output, *expected, options, workload->title());
    if (!request) return std::move(request).error();
    CheckKernel kernel;
    kernel.title = workload->title();
    kernel.request = std::move(*request);
    kernel.expected = std::move(*expected);
    kernel.id = to_hex(content_hash(encode(kernel.request))).substr(0, 16);
    return kernel;
  }
  return std::move(last).in("making a kernel for " + device.name);
}

}  // namespace fettle::app
