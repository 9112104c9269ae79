// fettle-agent: one static program on the board.
#include "agent/server/agent_program.h"

int main(int argc, char** argv) { return fettle::agent::run_agent_program(argc, argv); }
