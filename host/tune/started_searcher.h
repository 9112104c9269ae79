// A searcher that proposes given configurations before any other.
#pragma once

#include <memory>
#include <vector>

#include "host/tune/searcher.h"

namespace fettle::tune {

// `first`, in their order, but those that were observed before; then what `inner` proposes, which
// learns of all of them.
std::unique_ptr<Searcher> make_started(std::unique_ptr<Searcher> inner,
                                       std::vector<space::Configuration> first);

}  // namespace fettle::tune
