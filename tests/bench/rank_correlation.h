// Rank correlation: whether two series order the same things alike.
#pragma once

#include <span>

namespace fettle::bench {

// Spearman's, between -1 and 1; equal values share their mean rank. Both as long.
// 0 when one of them is all equal, or they are shorter than two.
double rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace fettle::bench
