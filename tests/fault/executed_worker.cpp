// A worker program like fettle-worker-gpu, but of the CPU's device, so that the tests' candidates
// run in it. FETTLE_TEST_WORKER makes it bad: "other" speaks of another device, "hang" is never
// ready, "crash" dies as it opens the device, "none" drives nothing.
#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <string>

#include "agent/device/cpu/cpu_device.h"
#include "agent/worker/executed_worker.h"

namespace fettle::agent {
namespace {

std::string fault() {
  const char* set = std::getenv("FETTLE_TEST_WORKER");
  return set ? set : "";
}

Result<std::unique_ptr<Device>> open_test_device(const wire::DeviceInfoT& info) {
  if (fault() == "hang") {
    while (true) pause();
  }
  if (fault() == "crash") raise(SIGSEGV);
  wire::DeviceInfoT told = info;
  if (fault() == "other") told.key = "another";
  told.name = "seen by the worker program";
  return open_cpu(told);
}

constexpr WorkerRow kRows[] = {{wire::DeviceKind::Cpu, open_test_device, cpu_sandbox}};

}  // namespace
}  // namespace fettle::agent

int main(int argc, char** argv) {
  using namespace fettle::agent;
  _exit(executed_worker_main(argc, argv, fault() == "none" ? std::span<const WorkerRow>() : kRows));
}
