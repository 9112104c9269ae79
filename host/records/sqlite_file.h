// A file as a record database: how it is opened, checked and made.
#pragma once

#include <memory>
#include <string>

#include "host/records/schema.h"
#include "host/records/sqlite.h"

namespace fettle::records {

inline constexpr std::int64_t kApplicationId = 0x4645544c;  // "FETL"; the version: user_version

// Opens and checks, and creates the tables in an empty file. A database of an earlier version is
// brought to this one (migrate.h), for readers in memory only.
//   NotFound         no such file (read_only, or create is false)
//   VersionMismatch  a later schema version, or another application's database
//   Malformed        not a database at all, damaged, or with a trigger, view or virtual table,
//                    which fettle makes none of
//   Io               also on a network file system whose locks do not hold
//   Io, DiskFull, Timeout (locked)
Result<std::unique_ptr<SqliteConnection>> open_file(const std::string& path,
                                                    const OpenOptions& options);

}  // namespace fettle::records
