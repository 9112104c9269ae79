// A CUDA device's executed workers, for a WorkerStation.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "agent/device/cuda/cuda_row.h"
#include "agent/worker/executed_worker.h"
#include "agent/worker/worker.h"
#include "tests/support/worker_station.h"

namespace fettle::test {

inline wire::DeviceInfoT cuda_device(const std::string& library) {
  agent::DeviceConfig config;
  config.key = "gpu";
  config.kind = wire::DeviceKind::Cuda;
  config.settings[agent::kCudaLibrary] = library;
  // The stand-in is both.
  if (library.find('/') != std::string::npos) config.settings[agent::kNvmlLibrary] = library;
  return agent::describe_cuda(config, agent::SystemRoot());
}

inline std::vector<wire::DeviceInfoT> one_cuda_device(const std::string& library) {
  std::vector<wire::DeviceInfoT> out;
  out.push_back(cuda_device(library));
  return out;
}

// Of fettle-worker-gpu as built here, or the file in $FETTLE_TEST_WORKER_GPU.
inline agent::WorkerMain cuda_worker(const std::string& library) {
  const char* set = std::getenv("FETTLE_TEST_WORKER_GPU");
  const std::string file = set ? set : FETTLE_WORKER_GPU_FILE;
  return [=](std::uint32_t, int socket, int status_memory) {
    return agent::refuse_device(
        socket, agent::execute_worker({}, file, cuda_device(library), socket, status_memory));
  };
}

}  // namespace fettle::test
