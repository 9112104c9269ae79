// What the outputs of a session's tasks must be.
#pragma once

#include <string>

#include "host/tune/expected_outputs.h"

namespace fettle::app {

// Of a DAG by the reference evaluator, of a user's kernel by its own reference, whose files are in
// `folder`.
tune::ExpectedFunction expected_by_references(const std::string& folder);

}  // namespace fettle::app
