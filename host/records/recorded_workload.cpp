// From a record's texts to its workload (recorded_workload.h).
#include "host/records/recorded_workload.h"

namespace fettle::records {

Result<space::Workload> recorded_workload(const TuningRecord& record) {
  auto workload = space::Workload::parse(record.source);
  if (workload && workload->canonical() == record.workload) return workload;
  return space::Workload::parse(record.workload);
}

}  // namespace fettle::records
