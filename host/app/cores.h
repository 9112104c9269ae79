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
// A builder per core: of those that are free, and of the device's, which is lent to them while no
// trial is with it (idle_runner.h).
std::size_t builder_count(const std::vector<int>& free_cores);

}  // namespace fettle::app
