// What `fettle-bench versions` found, for people or as JSON lines with a summary at the end.
#pragma once

#include <iosfwd>

#include "tests/bench/versions/compared_times.h"

namespace fettle::bench {

void print_json(const ComparedVersions& versions, std::ostream& out);
void print_tables(const ComparedVersions& versions, std::ostream& out);

}  // namespace fettle::bench
