// What the outputs of a user's own kernel must be, as its reference says: a C function run in a
// process of its own, .npy files, an operator or DAG of fettle's, or what another kernel computed.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "host/space/own_kernel/own_kernel.h"
#include "host/space/reference.h"
#include "schemas/wire/result.h"

namespace fettle::kernel_reference {

// One per output, in their order, on inputs filled as on a board. `folder`: of the files that the
// reference names. Where the kernel states no tolerance, a DAG's is its own; else integers are
// exact, and reals may be off by a ten-thousandth of themselves and of the output's root mean
// square (float16: a hundredth).
// One clear line: InvalidArgument: it does not fit the kernel, or does not compile; NotFound: a
// file, or a C compiler; Crash, Timeout: what the function did; Canceled: `stop`; Unsupported: it
// is a kernel, which runs on a device.
Result<std::vector<space::ExpectedTensor>> evaluate(const space::OwnKernel& kernel,
                                                    const std::string& folder,
                                                    const std::stop_token& stop = {});

// The same of outputs that a reference kernel computed on a device.
Result<std::vector<space::ExpectedTensor>> judged(const space::OwnKernel& kernel,
                                                  std::vector<std::vector<std::uint8_t>> outputs);

}  // namespace fettle::kernel_reference
