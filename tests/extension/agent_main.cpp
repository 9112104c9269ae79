// An agent that has a stack machine, too.
#include "agent/device/registry.h"
#include "agent/server/agent_program.h"
#include "tests/extension/stack_device.h"

int main(int argc, char** argv) {
  fettle::agent::add_device_row(fettle::extension::stack_device_row());
  return fettle::agent::run_agent_program(argc, argv);
}
