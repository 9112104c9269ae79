// fettle records show: one record in full, or what sessions and tasks there are. As text, or as
// JSON lines: objects of kind "trial", "session", "task" (with its best), "failures".
#pragma once

#include "host/records/database.h"

namespace fettle::app {

Result<void> show_record(const records::Database& database, std::int64_t id, bool json);
Result<void> show_overview(const records::Database& database, const records::Filter& filter,
                           bool json);

}  // namespace fettle::app
