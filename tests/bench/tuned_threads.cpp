// tuned_threads (tuned_threads.h).
#include "tests/bench/tuned_threads.h"

#include <algorithm>
#include <map>

#include "host/space/target.h"

namespace fettle::bench {

Result<int> tuned_threads(const records::Database& database, const std::set<std::string>& workloads,
                          const std::string& device_key) {
  records::Filter filter;
  filter.device_key = device_key;
  filter.measured_only = true;
  std::map<std::string, int> records_of;  // by target: few are parsed
  auto read = database.for_each(filter, [&](const records::TuningRecord& record) {
    if (workloads.contains(record.workload)) ++records_of[record.target];
    return true;
  });
  if (!read) return read.error();
  std::map<int, int> by_threads;
  for (const auto& [text, records] : records_of) {
    if (const auto target = space::Target::parse(text)) by_threads[target->threads()] += records;
  }
  const auto most = std::max_element(by_threads.begin(), by_threads.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  return most == by_threads.end() ? 0 : most->first;
}

}  // namespace fettle::bench
