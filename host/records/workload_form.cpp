// Texts of workloads, of whatever age (workload_form.h).
#include "host/records/workload_form.h"

#include "host/space/workload.h"

namespace fettle::records {

std::optional<WorkloadForm> workload_form(const std::string& text) {
  const auto workload = space::Workload::parse(text);
  if (!workload) return std::nullopt;
  return WorkloadForm{workload->canonical(), workload->hash(), workload->title(),
                      workload->source()};
}

}  // namespace fettle::records
