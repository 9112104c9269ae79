// The profile of a run as one HTML file that needs nothing else.
#pragma once

#include <string>

#include "runtime/run/report.h"

namespace fettle::app {

std::string run_page(const run::Report& report);

}  // namespace fettle::app
