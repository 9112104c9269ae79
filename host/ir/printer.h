// Readable text of IR, for --dump-after and golden tests. Variables of one name
// in one print are told apart by a suffix (x, x.1), in order of appearance, so
// that equal programs print equal text.
#pragma once

#include <string>

#include "host/ir/module.h"

namespace fettle::ir {

std::string print(const Expr& expr);
std::string print(const Stmt& stmt);
std::string print(const Function& function);
std::string print(const Module& module);

}  // namespace fettle::ir
