// Knowledge: a copy of what a searcher has seen, so that a plan can be made on another thread.
#pragma once

#include <vector>

#include "host/space/search_space.h"
#include "host/tune/unseen.h"

namespace fettle::tune {

struct Knowledge {
  struct Trial {
    space::Configuration configuration;
    double nanoseconds = 0;  // 0: failed
    bool censored = false;
    std::vector<float> features;  // may be empty
  };
  std::vector<Trial> trials;
  Unseen unseen;
};

}  // namespace fettle::tune
