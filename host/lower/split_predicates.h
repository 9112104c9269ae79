// Copies under a condition become branches where the condition is one for all lanes.
#pragma once

#include "host/ir/stmt.h"

namespace fettle::lower {

// to[i] = (from[j] if p), p the same in every lane: if p {to[i] = from[j]} else
// {to[i] = 0}, and to[i] = (p ? (from[j] if p and q) : c) likewise, also where from[j] is
// converted or an integer constant is added. What a padding stage is made of. Runs after
// vectorise.
ir::Stmt split_predicates(const ir::Stmt& stmt);

}  // namespace fettle::lower
