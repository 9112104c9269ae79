// fettle-worker-gpu: workers of GPUs, a program of its own because it loads the vendors' shared
// libraries. fettle-agent carries it and starts it (executed_worker.h).
#include <unistd.h>

#include "agent/device/cuda/cuda_device.h"
#include "agent/worker/executed_worker.h"

namespace {

using namespace fettle;

constexpr agent::WorkerRow kRows[] = {
    {wire::DeviceKind::Cuda, agent::open_cuda, agent::cuda_sandbox},
};

}  // namespace

// Without the drivers' own clean-up, which can hang after a fault.
int main(int argc, char** argv) { _exit(agent::executed_worker_main(argc, argv, kRows)); }
