// CoreWork: what all statements of a program ask of one core, and an estimate of its time.
#pragma once

#include "host/lower/cpu/nest_footprint.h"
#include "host/lower/loop_nest.h"
#include "host/space/cpu_target.h"

namespace fettle::lower {

// Sums over the timed launches of one run. Cycles are those of a core that computes two vectors and
// loads two a cycle: of no CPU in particular.
struct CoreWork {
  double arithmetic = 0;       // cycles
  double loads = 0;            // cycles, of what a body loads: each place once
  double latency = 0;          // cycles, where sums wait for themselves
  double spills = 0;           // of registers that there are not
  double reloaded = 0;         // vectors that registers do not hold until their next use
  double reloaded_spread = 0;  // and of spread values: in all lanes, or lanes put in order
  double masked = 0;           // loads, each of which asks a condition
  double shuffles = 0;         // of a vector's lanes, each order once in a body
  double unaligned = 0;        // loads and stores that may lie on two cache lines
  double bodies = 0;           // runs of what is unrolled
  double code = 0;             // instructions
  double branches = 0, stored_bytes = 0;
  double traffic[kCacheLevels] = {0, 0, 0};  // bytes through each cache

  // All but branches and traffic.
  void add(const LoopNest& nest, const space::CpuTarget& target);
  void add_traffic(const NestFootprint& nest, const space::CpuTarget& target);
};

// A weighted sum of these: only the order of programs is of use. The weights are rounded from those
// that tell times of the tasks of host/cost/priors best (tests/bench/fit_estimate.py): on an x86-64
// server with AVX-512, and on one with AVX2 for all cores with narrower vectors.
double estimated_cycles(const CoreWork& work, const space::CpuTarget& target);

}  // namespace fettle::lower
