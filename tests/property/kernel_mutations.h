// Seeded mistakes in lowered kernels: what the output check must catch.
#pragma once

#include <string>
#include <vector>

#include "host/ir/module.h"

namespace fettle::testing {

// Every kind changes what the kernel computes; where a change could be without
// effect (a loop over padding that is zero anyway), the kind leaves that place out.
// Indices that a mistake makes too large or negative are clamped into their buffer,
// so that a mutant computes wrongly but does not crash.
enum class Mistake {
  ShortLoop,      // one iteration fewer
  LateLoop,       // the first iteration is left out
  DroppedTask,    // the last task of a launch is left out
  WrongStride,    // a factor of an index is one too small
  SwappedIndex,   // two loop variables exchanged in an index
  ShiftedLoad,    // reads the next element
  ShiftedStore,   // writes the next element
  WrongRegister,  // stores the neighbouring register of the tile
  DroppedTerm,    // one multiply-add of the unrolled body is missing
  LostSum,        // a multiply-add forgets what was summed before
  WrongFactor,    // multiplies a value with itself
  WrongStart,     // a sum begins at one
  MissingRelu,
  MissingBias,
  MissingResidual,
  WrongBiasIndex,  // the next channel's
  SubtractedTail,  // bias or residual subtracted
  PadNotZero,
  PadTooWide,  // the last real column or row counts as padding
  MissingFactor,
  WrongSign,  // the factors of an unsigned by signed dot product exchanged
  Count
};

const char* name_of(Mistake mistake);

// How many places of the module the mistake can be made in.
int places(const ir::Module& module, Mistake mistake);
// The module with that mistake in that place, 0 <= place < places().
ir::Module mutated(const ir::Module& module, Mistake mistake, int place);

}  // namespace fettle::testing
