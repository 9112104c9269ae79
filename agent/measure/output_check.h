// Comparing an output with what it should be.
#pragma once

#include "schemas/measure_generated.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/result.h"

namespace fettle::agent {

// Every element must satisfy |actual - expected| <= absolute + relative * |expected|;
// NaN is equal to NaN only, an infinity to itself only. WrongAnswer says how many
// differ, where the first one is and what it holds; UnwrittenOutput the same when
// elements still hold the pattern of `unwritten_byte`. `name`: for the message.
Result<void> check_output(ByteView actual, ByteView expected, const wire::ExpectedOutputT& how,
                          std::uint8_t unwritten_byte, const std::string& name);

}  // namespace fettle::agent
