// Compulsory bytes: what every program for a layer must read and write, however it is
// scheduled.
#pragma once

#include "host/space/compute_dag.h"

namespace fettle::space {

// Elements of inputs and constants that some output depends on, and all outputs, each
// once. Never more than that: what is multiplied by padding only does not count, nor what a
// stride steps over, nor what is read at indices or under conditions not understood.
double compulsory_bytes(const ComputeDag& dag);

}  // namespace fettle::space
