// fettle-simulated-board: the agent, on whose CPU kernels take the time that they are told to.
#include "agent/server/agent_program.h"
#include "tests/bench/boards/simulated_device.h"

int main(int argc, char** argv) {
  fettle::agent::add_device_row(fettle::bench::simulated_device_row());
  return fettle::agent::run_agent_program(argc, argv);
}
