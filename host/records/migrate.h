// Databases of earlier versions of fettle: brought to the tables of this one, in place.
//
//   1  workloads were operators; their text was the key
//   2  the key is the compute DAG's text; title and source beside it
//   3  times of finals beside those of trials
#pragma once

#include <memory>
#include <string>

#include "host/records/sqlite.h"

namespace fettle::records {

// A complete copy of the file as it was is kept beside it as "<path>.v1" (an earlier one is
// replaced), then all tables change in one transaction: whatever ends the process meanwhile,
// the file is as before or done. Another process that does the same is waited for.
// DiskFull, Io, Timeout: nothing has changed.
Result<void> migrate(const SqliteConnection& connection, std::int64_t from);

// The same database in memory, brought to this version; the file stays as it is. For readers.
Result<std::unique_ptr<SqliteConnection>> migrated_copy(const SqliteConnection& connection,
                                                        std::int64_t from);

// What changes in the tables of either kind of database, in the caller's transaction.
Result<void> change_tables(const Connection& connection, std::int64_t from);

}  // namespace fettle::records
