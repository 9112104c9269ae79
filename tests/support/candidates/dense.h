/* Kernels of a tiny network's dense layers: one image whose first argument, a scalar, says which.
   Read by C (freestanding) and C++. */
#pragma once

enum DenseKernel {
  /* args: kind, weights [n][k], packed [k][n], k, n; iterates over k */
  kPackWeights,
  /* args: kind, in [k], packed [k][n], bias [n], out [n], k, n, relu; iterates over n */
  kDense
};
