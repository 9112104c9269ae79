// Four neighbouring bytes as one load: an int32 made of int8 (space: packed_bytes) that lie side by
// side, at a multiple of four, is loaded whole.
#pragma once

#include "host/ir/stmt.h"

namespace fettle::lower {

// Runs on flat storage, after quotients are simplified: it looks for what is alike in the four
// places. Where they may lie apart, or only some of them are there, the bytes stay.
ir::Stmt join_bytes(const ir::Stmt& stmt);

}  // namespace fettle::lower
