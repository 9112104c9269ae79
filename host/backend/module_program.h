// What is said of a module whatever code it was compiled to: buffers and launches, and facts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/ir/module.h"
#include "host/lower/lower.h"
#include "schemas/build_generated.h"
#include "schemas/program_generated.h"
#include "schemas/wire/result.h"

namespace fettle::backend {

// Buffers in the module's order. Each launch is of image 0, its entry the function's place in the
// module, its arguments the function's parameters, its parallel extent the function's. The image
// itself, `target` and max_threads are left to the caller.
wire::ProgramT module_program(const ir::Module& module);

// Operations and scratch are counted; the rest is what the task knows. Bytes.
wire::ProgramFactsT module_facts(const ir::Module& module, double compulsory_bytes,
                                 double error_growth, std::vector<float> features);

// `fettle explain --dump-after`: InvalidArgument, with the names that there are, where `pass` is
// neither empty nor one of them.
Result<void> check_pass_name(const std::string& pass, std::span<const lower::Pass> passes);

}  // namespace fettle::backend
