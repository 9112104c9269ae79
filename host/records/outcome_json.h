// An Outcome as JSON and back, without loss: the form in the database, in JSON
// lines and in `fettle records show --json`. Fields have the schema's names.
#pragma once

#include "host/records/json_fields.h"
#include "schemas/measure_generated.h"

namespace fettle::records {

Json to_json(const wire::OutcomeT& outcome);
// Malformed: names the field. Fields that it does not know are skipped.
Result<wire::OutcomeT> outcome_from_json(const Json& json);

}  // namespace fettle::records
