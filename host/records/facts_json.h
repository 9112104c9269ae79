// Facts of boards and devices as JSON, with the schema's field names: stored with
// the records and printed by `--json`. One way only; the target is what is replayed.
#pragma once

#include "host/records/json_fields.h"
#include "schemas/device_generated.h"

namespace fettle::records {

// Without agent_instance: it changes at every start and says nothing of the board.
Json to_json(const wire::BoardT& board);
Json to_json(const wire::DeviceInfoT& device);

}  // namespace fettle::records
