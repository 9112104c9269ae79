// fettle-agent-rtl: fettle-agent with the Verilated core, `--device-kind vta --vta-core rtl`.
#include "agent/device/vta/vta_core.h"
#include "agent/server/agent_program.h"
#include "runtime/vta/rtl_accelerator.h"

int main(int argc, char** argv) {
  using namespace fettle;
  agent::add_vta_core({"rtl", "Verilated", true, runtime::make_rtl_accelerator});
  return agent::run_agent_program(argc, argv);
}
