// Opening accelerators behind XRT (xrt_device.h).
#include "agent/device/xrt/xrt_device.h"

#include "agent/device/offload_device.h"
#include "agent/device/vta/accelerator_device.h"
#include "agent/device/xrt/xclbin_file.h"
#include "agent/device/xrt/xrt_row.h"
#include "runtime/xrt/xrt_accelerator.h"

namespace fettle::agent {

Result<std::unique_ptr<Device>> open_xrt(const wire::DeviceInfoT& info) {
  const std::string path = extra_of(info, kXrtXclbin, "");
  if (path.empty()) {
    return Error{ErrorCode::InvalidArgument,
                 std::string("a device of the kind xrt needs --") + kXrtXclbin + " FILE"};
  }
  const auto file = read_xclbin_file(path);
  if (!file) return Error{file.error().code, path + ": " + file.error().message};
  const runtime::XrtSettings settings{
      extra_of(info, kXrtLibrary,
               "libxrt_coreutil.so.2,/opt/xilinx/xrt/lib/libxrt_coreutil.so.2,libxrt_coreutil.so"),
      extra_of(info, kXrtDevice, "0"), info.memory_limit_bytes};
  auto opened = runtime::make_xrt_accelerator(settings, *file);
  if (!opened) return std::move(opened).error().in("opening " + path);
  if (vta::configuration_of((*opened)->design()) != info.fpga->configuration) {
    return Error{ErrorCode::WrongConfiguration,
                 path + " is of another design than when the agent was started"};
  }
  return make_accelerator_device(info, std::move(*opened));
}

// Streams are data, verified before they run, and the accelerator's memory is mapped: what is
// needed while they run is XRT's ioctl and poll, files that it reads when it logs an error, and
// what the longest stream takes, decoded by the verifier.
SandboxPolicy xrt_sandbox(const wire::DeviceInfoT&) {
  return {.extra_memory_bytes = std::uint64_t{512} << 20,
          .calls = SystemCalls::Driver,
          .runs_candidates_code = false};
}

}  // namespace fettle::agent
