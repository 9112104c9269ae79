// The database's tables and how a file is opened as one of ours.
#pragma once

#include <memory>
#include <string>

#include "host/records/file_system.h"
#include "host/records/sqlite.h"

namespace fettle::records {

inline constexpr std::int64_t kApplicationId = 0x4645544c;  // "FETL"
inline constexpr std::int64_t kSchemaVersion =
    2;  // SQLite's user_version; migrate.h has their list

struct OpenOptions {
  bool read_only = false;
  bool create = true;  // false: a missing file is NotFound
  std::chrono::milliseconds lock_wait{10'000};
  const FileSystemProbe* file_system = nullptr;  // null: the system's; must outlive the call
};

// Opens and checks, and creates the tables in an empty file. A database of an earlier version is
// brought to this one (migrate.h), for readers in memory only.
//   NotFound         no such file (read_only, or create is false)
//   VersionMismatch  a later schema version, or another application's database
//   Malformed        not a database at all, damaged, or with a trigger, view or virtual table,
//                    which fettle makes none of
//   Io               also on a network file system whose locks do not hold
//   Io, DiskFull, Timeout (locked)
Result<std::unique_ptr<Connection>> open_checked(const std::string& path,
                                                 const OpenOptions& options);

}  // namespace fettle::records
