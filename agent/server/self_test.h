// --self-test: one tiny program through a real worker, without a broker.
#pragma once

#include "agent/worker/nursery.h"
#include "schemas/measure_generated.h"

namespace fettle::agent {

// Stores 1.0f: machine code of this architecture, one Output buffer of 4 bytes.
wire::ProgramT tiny_program();

// Prints the devices, measures the tiny program on each, and returns the exit status.
int self_test(const wire::BoardT& board, const std::vector<wire::DeviceInfoT>& devices,
              Nursery nursery);

}  // namespace fettle::agent
