// --device and --session of `fettle records`.
#pragma once

#include <string>

#include "host/records/database.h"

namespace fettle::app {

// NotFound, with what `db` holds, where the filter lets no session and no trial through.
Result<void> check_filter(const records::Database& database, const records::Filter& filter,
                          const std::string& db);

}  // namespace fettle::app
