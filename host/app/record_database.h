// The database of records that a command works with, a file or a server's. While a lost server is
// waited for, a line on standard error says so.
#pragma once

#include <string>

#include "host/records/database.h"
#include "host/tune/tune.h"

namespace fettle::app {

// It must be there.
Result<records::Database> open_to_read(const std::string& db);
records::OpenOptions writing(const tune::StopSignal* stop);
// Made if it is not there. `stop`, which may be null, ends a wait; it must outlive the database.
Result<records::Database> open_to_write(const std::string& db, const tune::StopSignal* stop);

}  // namespace fettle::app
