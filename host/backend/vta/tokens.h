// Tokens for a stream that has none: which instruction must wait for which of another unit follows
// from what each reads and writes.
#pragma once

#include <span>
#include <vector>

#include "fpga/isa/verify.h"
#include "schemas/wire/result.h"

namespace fettle::vta::host {

// The stream's instructions in their order, which is one in which they are right when each ends
// before the next begins; with the tokens that keep them right when units run beside each other,
// and FINISH behind all of them. Addresses are those of the regions, as verify() wants them.
//
// An instruction waits for the last one of another unit that wrote what it reads or writes, or read
// what it writes, unless that has ended for sure; load and store wait for each other by way of
// compute. No token can be left out. Instructions that do nothing are added only where compute
// stands between load and store, and before FINISH.
//
// BuildError: more tokens wait in a queue than the design has room for.
Result<std::vector<Instruction>> with_tokens(const Design& design,
                                             std::span<const Instruction> stream,
                                             std::span<const Region> regions);

}  // namespace fettle::vta::host
