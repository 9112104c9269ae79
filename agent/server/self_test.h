// --self-test: one tiny program through a real worker, without a broker.
#pragma once

#include "agent/worker/nursery.h"
#include "schemas/measure_generated.h"

namespace fettle::agent {

// Prints the devices, measures on each the program of its kind, and returns the exit status.
// may_be_missing[i]: devices[i] is no failure where it cannot be opened.
int self_test(const wire::BoardT& board, const std::vector<wire::DeviceInfoT>& devices,
              const std::vector<bool>& may_be_missing, Nursery nursery);

}  // namespace fettle::agent
