// Texts of workloads, of whatever age (workload_form.h).
#include "host/records/workload_form.h"

#include "host/space/workload.h"

namespace fettle::records {

std::string source_for_people(const std::string& source) {
  if (!source.starts_with("{\"kernel\":")) return source;
  const auto workload = space::Workload::parse(source);
  return workload && workload->kernel() ? workload->kernel()->source.file : source;
}

std::optional<WorkloadForm> workload_form(const std::string& text) {
  const auto workload = space::Workload::parse(text);
  if (!workload) return std::nullopt;
  return WorkloadForm{workload->canonical(), workload->hash(), workload->title(),
                      workload->source()};
}

}  // namespace fettle::records
