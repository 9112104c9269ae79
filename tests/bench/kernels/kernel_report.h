// What `fettle-bench kernels` prints for people: tables and a summary.
#pragma once

#include "tests/bench/kernels/kernel_side.h"
#include "tests/bench/kernels/layer_figures.h"

namespace fettle::bench {

void print_layers(const std::vector<LayerFigures>& layers, const KernelSide& side);
// Why the layers take as long as they do.
void print_why(const std::vector<LayerFigures>& layers, const Peak& peak);
void print_summary(const std::vector<LayerFigures>& layers, const NetworkSummary& summary,
                   const KernelSide& side);

}  // namespace fettle::bench
