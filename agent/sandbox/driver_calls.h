// Calls that a process with a vendor's driver must not make (seccomp.h), whatever their arguments.
#pragma once

#include <span>

namespace fettle::agent {

std::span<const unsigned> calls_of_no_driver();
// Beside: those by which drivers build programs.
std::span<const unsigned> calls_of_builders();

}  // namespace fettle::agent
