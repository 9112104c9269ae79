// What a function computes, as bytes: to find again what was made of it.
#pragma once

#include <string>

#include "host/ir/module.h"

namespace fettle::ir {

// Two functions of the same bytes do the same, statement by statement, with parameters of the same
// types in the same order, under the same name. Names of variables and buffers do not count; which
// expressions are shared does.
std::string fingerprint(const Function& function);

}  // namespace fettle::ir
