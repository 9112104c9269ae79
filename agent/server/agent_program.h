// The whole agent: for `fettle-agent`, and for agents with a device of their own.
#pragma once

namespace fettle::agent {

// What main() does; its exit status. Rows of devices are added before (agent/device/registry.h).
int run_agent_program(int argc, char** argv);

}  // namespace fettle::agent
