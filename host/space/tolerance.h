// How far an output may be from the expected one, with the reason.
#pragma once

#include "host/space/compute_dag.h"

namespace fettle::space {

// 0 for integers. For float32 outputs of the workload's fills. A sum of K products of magnitude
// about 0.4 / sqrt(K) has partial sums up to O(1), each rounded to 2^-24 of
// itself with random sign: the error grows like 2^-24 * sqrt(K) * 0.2, whatever
// the order of summation. 4 of those units leave room for the largest of
// millions of outputs; the smallest single term, 0.0625 / sqrt(K), is larger
// than the tolerance as long as K < 2^17, so a missing term always shows. A tail's multiply takes
// it to a quarter: K < 2^15 then.
// A float16 output is rounded once more, on both sides: where they round apart they differ
// by one unit in its last place. Outputs near 0, whose units are small, show a missing term.
Tolerance tolerance_of(const ComputeDag& dag);

}  // namespace fettle::space
