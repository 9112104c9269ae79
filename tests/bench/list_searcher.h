// ListSearcher: proposes what it was given, in that order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "host/tune/searcher.h"

namespace fettle::bench {

class ListSearcher final : public tune::Searcher {
 public:
  explicit ListSearcher(std::vector<space::Configuration> list) : list_(std::move(list)) {}
  std::vector<space::Configuration> propose(std::size_t n) override {
    const std::size_t end = std::min(list_.size(), next_ + n);
    std::vector<space::Configuration> proposed(list_.begin() + static_cast<std::ptrdiff_t>(next_),
                                               list_.begin() + static_cast<std::ptrdiff_t>(end));
    next_ = end;
    return proposed;
  }
  void observe(const tune::Observation&) override {}

 private:
  std::vector<space::Configuration> list_;
  std::size_t next_ = 0;
};

}  // namespace fettle::bench
