// What libFuzzer calls; the seeded tests call the same function. Aborts when
// something broke that must hold for any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schemas/wire/codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// Well-formed inputs of this target to start from.
std::vector<fettle::Bytes> fuzz_seeds();
