// What the outputs of a session's tasks must be.
#pragma once

#include <string>

#include "host/app/device_reference.h"
#include "host/tune/expected_outputs.h"

namespace fettle::app {

// Of a DAG by the reference evaluator, of a user's kernel by its own reference, whose files are in
// `folder`, or what `measured` holds of it.
tune::ExpectedFunction expected_by_references(const std::string& folder,
                                              MeasuredReferences measured = {});

}  // namespace fettle::app
