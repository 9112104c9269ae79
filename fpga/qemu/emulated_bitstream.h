// Bitstreams for the emulated board (emulated_pl.h): files as Vivado writes them, of a design by
// name, without a circuit in them.
#pragma once

#include "fpga/config/design.h"
#include "schemas/wire/codec.h"

namespace fettle::vta {

// A .bit file for a PYNQ's xc7z020clg400-1, some 100 KB: its frames hold nothing.
Bytes make_emulated_bitstream(const Design& design);

}  // namespace fettle::vta
