// fettle-worker-gpu: workers of GPUs, and of accelerators behind XRT: a program of its own because
// it loads the vendors' shared libraries. fettle-agent carries it and starts it
// (executed_worker.h).
#include <unistd.h>

#include "agent/worker/executed_worker.h"
#ifdef FETTLE_HAS_CUDA
#include "agent/device/cuda/cuda_device.h"
#endif
#ifdef FETTLE_HAS_OPENCL
#include "agent/device/opencl/opencl_device.h"
#endif
#include "agent/device/xrt/xrt_device.h"

namespace {

using namespace fettle;

using Opened = Result<std::unique_ptr<agent::Device>>;

// Kinds that a build is without refuse to be opened, so that whoever asks hears what brings them.
[[maybe_unused]] Opened no_cuda(const wire::DeviceInfoT&) {
  return Error{ErrorCode::Unsupported,
               "this agent was built without CUDA devices, because no cuda.h was there: "
               "`./dev setup cuda` brings it, `./dev agents` builds the agent anew"};
}
[[maybe_unused]] Opened no_opencl(const wire::DeviceInfoT&) {
  return Error{ErrorCode::Unsupported,
               "this agent was built without OpenCL devices, because no CL/cl.h was there: "
               "`./dev setup` brings it, `./dev agents` builds the agent anew"};
}

constexpr agent::WorkerRow kRows[] = {
#ifdef FETTLE_HAS_CUDA
    {wire::DeviceKind::Cuda, agent::open_cuda, agent::cuda_sandbox},
#else
    {wire::DeviceKind::Cuda, no_cuda, nullptr},
#endif
#ifdef FETTLE_HAS_OPENCL
    {wire::DeviceKind::OpenCl, agent::open_opencl, agent::opencl_sandbox},
#else
    {wire::DeviceKind::OpenCl, no_opencl, nullptr},
#endif
    {wire::DeviceKind::Xrt, agent::open_xrt, agent::xrt_sandbox},
};

}  // namespace

// Without the drivers' own clean-up, which can hang after a fault.
int main(int argc, char** argv) { _exit(agent::executed_worker_main(argc, argv, kRows)); }
