// OpenBLAS as a peer for dense layers.
#pragma once

#include <memory>

#include "tests/bench/kernels/contender.h"
#include "tests/bench/kernels/layer.h"

namespace fettle::bench {

// sgemm, or sgemv for a batch of one, on an output that holds bias and residual
// already; relu is a loop of our own behind it. Uses `threads` OpenMP threads.
// Unsupported: the layer is not dense. The layer must outlive the peer.
Result<std::unique_ptr<Contender>> make_openblas_peer(const Layer& layer, unsigned threads);

}  // namespace fettle::bench
