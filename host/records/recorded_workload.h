// The workload of a record.
#pragma once

#include "host/records/record.h"
#include "host/space/workload.h"

namespace fettle::records {

// As the operator that wrote it, where that still writes the DAG that was measured; else that DAG.
// Errors as Workload::parse: a record of a later version.
Result<space::Workload> recorded_workload(const TuningRecord& record);

}  // namespace fettle::records
