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

// Of an algorithm whose sums are of other terms than the plain sum's, which they give together.
struct Rounding {
  // Root mean square of its sum's errors over the plain sum's, where each term has an error of
  // its own, in proportion to it: as large for the rounding of terms as for that of sums.
  double growth = 1;
  bool halves = false;  // both factors and the sums of their products are stored as float16
};

// What tolerance_of(dag).absolute must be multiplied by.
// A value stored as float16 is off by 0.4 * 2^-11 of itself in the root mean square; each term is
// made of two, and its sum is stored once more. With results of magnitude 0.4 that is
// 0.3 * 2^-11 * growth, and 8 of those leave room for the largest of millions of outputs and for
// tails that are steeper than 1.
double error_growth_of(const ComputeDag& dag, const Rounding& rounding);

// Whether an output that lacks one term of typical magnitude, 0.4 / sqrt(K), is still told from a
// right one where the tolerance is so much larger. Else the algorithm's results mean too little.
bool tells_a_missing_term(const ComputeDag& dag, double error_growth);

}  // namespace fettle::space
