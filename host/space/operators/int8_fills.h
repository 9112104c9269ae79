// Fills of int8 layers, fitted to their tails: what is requantised and clipped must be able
// to show an error, which outputs at the ends of the clip's range hide.
#pragma once

#include <cstdint>
#include <vector>

#include "host/space/compute_dag.h"
#include "host/space/operators/tail.h"

namespace fettle::space {

// Whether some stage is a product: of an int8 operator, its outputs are sums of products.
bool of_products(const ComputeDag& dag);

// Standard deviation of the outputs of an int8 operator with the fills at hand, before a tail.
double typical_output(const ComputeDag& dag);

// Narrows the fills of an int8 operator without its tail, constants first, where less than
// about 40 % of the outputs would lie strictly inside the range of the first clip. Values
// as large as int8 has stay where they can. Returns the magnitude for a tail's bias.
std::int64_t fit_fills(ComputeDag& dag, const std::vector<TailStep>& steps);

// The magnitude of the factors of a tail that requantises.
double fitted_factor(const ComputeDag& dag);

// Unsupported: a shift so wide that outputs would be 0 or 1 off it, whatever the fills.
Result<void> require_outputs(const OperatorCall& call);

}  // namespace fettle::space
