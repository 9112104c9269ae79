// The card that xrt_shim.cpp plays, for tests of a process that loads XRT or starts one that does.
#pragma once

#include <string>

namespace fettle::test {

// "": from now on XRT finds the card (XILINX_XRT) in this process and those that it starts.
std::string no_xrt_card();

// A file, gone with this process, with the core of that design for its die.
std::string xclbin_of(const std::string& design);

}  // namespace fettle::test
