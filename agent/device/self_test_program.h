// What a kind of device runs to show that it works: a program and what it must compute.
#pragma once

#include <vector>

#include "schemas/program_generated.h"
#include "schemas/wire/codec.h"

namespace fettle::agent {

struct SelfTestProgram {
  wire::ProgramT program;
  std::vector<float> answer;  // of the program's one output
};

}  // namespace fettle::agent
