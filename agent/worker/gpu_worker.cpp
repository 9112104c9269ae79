// fettle-worker-gpu: workers of GPUs, a program of its own because it loads the vendors' shared
// libraries. fettle-agent carries it and starts it (executed_worker.h).
#include <unistd.h>

#include "agent/worker/executed_worker.h"
#ifdef FETTLE_HAS_CUDA
#include "agent/device/cuda/cuda_device.h"
#endif
#ifdef FETTLE_HAS_OPENCL
#include "agent/device/opencl/opencl_device.h"
#endif

namespace {

using namespace fettle;

constexpr agent::WorkerRow kRows[] = {
#ifdef FETTLE_HAS_CUDA
    {wire::DeviceKind::Cuda, agent::open_cuda, agent::cuda_sandbox},
#endif
#ifdef FETTLE_HAS_OPENCL
    {wire::DeviceKind::OpenCl, agent::open_opencl, agent::opencl_sandbox},
#endif
};

}  // namespace

// Without the drivers' own clean-up, which can hang after a fault.
int main(int argc, char** argv) { _exit(agent::executed_worker_main(argc, argv, kRows)); }
