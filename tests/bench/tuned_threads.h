// For how many threads the records of a database were tuned.
#pragma once

#include <set>
#include <string>

#include "host/records/database.h"

namespace fettle::bench {

// The thread count of most measured records of these workloads (canonical JSON) on that device
// key, of two with as many the lower one; 0: there is no such record.
Result<int> tuned_threads(const records::Database& database, const std::set<std::string>& workloads,
                          const std::string& device_key);

}  // namespace fettle::bench
