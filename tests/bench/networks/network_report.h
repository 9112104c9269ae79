// Tables of the benchmark of whole networks.
#pragma once

#include <iosfwd>
#include <vector>

#include "tests/bench/networks/network_figures.h"

namespace fettle::bench {

void print_network(const NetworkFigures& network, std::ostream& out);
void print_summary(const NetworksSummary& summary, std::ostream& out);

}  // namespace fettle::bench
