// CpuSketch: a way of one's own to write loops for an operator, with knobs, which fettle searches
// beside its own sketches. Stages, loops and axes are named as the operator names them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fettle/expression.h"

namespace fettle {

struct StageFacts {
  std::string name;
  std::vector<Axis> axes, reduced;
  bool placeholder = false;  // an input or a constant
  bool output = false;
};

struct CpuFacts {
  int vector_bits = 0, vector_registers = 0, threads = 1;
};

// Of a name that no other knob of its sketch has, with at least one option.
struct Knob {
  std::string name;
  std::vector<std::int64_t> options;
};

// What a sketch does to the loops that a stage begins with: one for each axis, outermost first,
// those that reduce inside. The first step that does not fit ends it: the candidate is not built,
// and the reason is told.
class Steps {
 public:
  virtual ~Steps() = default;
  // The stage is computed where it is read; it reduces nothing.
  virtual void inline_stage(const std::string& stage) = 0;
  // A sum is made in a stage "<stage>.local" of its own, which `stage` copies.
  virtual void cache_write(const std::string& stage) = 0;
  // loop -> outer, inner of `factor` iterations. Where it does not divide the loop, the last tile
  // begins early.
  virtual void split(const std::string& stage, const std::string& loop, std::int64_t factor,
                     const std::string& outer, const std::string& inner) = 0;
  // The order of loops, outermost first; those not named stay behind them.
  virtual void reorder(const std::string& stage, const std::vector<std::string>& loops) = 0;
  // The outermost loops, in this order, become one whose iterations threads share.
  virtual void parallel(const std::string& stage, const std::vector<std::string>& loops) = 0;
  virtual void unroll(const std::string& stage, const std::string& loop) = 0;
  virtual void vectorize(const std::string& stage, const std::string& loop) = 0;
  // The stage is computed inside the reader's loop, as much as is read there; `registers`: every
  // element is kept in a register, so all loops inside must be unrolled or vectorised.
  virtual void compute_at(const std::string& stage, const std::string& reader,
                          const std::string& loop, bool registers) = 0;
};

// Where it lacks a name of its own or a function, or a knob is none, the tasks that it applies to
// are not tuned, and the reason is told.
struct CpuSketch {
  std::string name;
  // All three are called from several threads, and again for each task and candidate: they must
  // answer the same for the same arguments.
  std::function<bool(const std::vector<StageFacts>& stages, const CpuFacts& cpu)> applies;
  std::function<std::vector<Knob>(const std::vector<StageFacts>& stages, const CpuFacts& cpu)>
      knobs;
  // knob(name): the value chosen. Of a name that no knob has it is 1, and ends the candidate as a
  // step that does not fit does.
  std::function<void(Steps& steps, const std::function<std::int64_t(const char* knob)>& knob)>
      schedule;
};

}  // namespace fettle
