// Where this process and its builders run, so that they keep off the cores that a
// local device measures on.
#pragma once

#include <cstddef>
#include <vector>

namespace fettle::app {

std::vector<int> usable_cores();  // of this process
// Every thread that this process has now; threads started later inherit it.
// Empty: nothing is changed. Failing to pin is no error, only less quiet.
void pin_process(const std::vector<int>& cores);
// One builder per core that is free; at least one.
std::size_t builder_count(const std::vector<int>& free_cores);

}  // namespace fettle::app
