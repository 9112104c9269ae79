// A PostgreSQL database as a record database: how it is opened, its tables made, brought to this
// version, and who may use them.
#pragma once

#include <memory>
#include <string>

#include "host/records/postgres.h"
#include "host/records/schema.h"

namespace fettle::records {

// Opens and checks; makes the tables where there are none, and brings those of an earlier version
// to this one (migrate.h), in one transaction that only one process is in at a time. The tables lie
// in the first schema of the role's search_path. Of OpenOptions, file_system means nothing here.
//   InvalidArgument  no URL
//   NotFound         no such database on the server; no records in it (read_only, or no create)
//   Unauthorized     the password, or the role may not do what was asked
//   VersionMismatch  a later schema version, or an earlier one that may not be changed (read_only,
//                    or by this role); the server is too old; tables of another program
//   Unreachable      the server, whose way may be wrong
Result<std::unique_ptr<PostgresConnection>> open_postgres(const std::string& url,
                                                          const OpenOptions& options);

enum class Access { Reader, Writer };

// Lets `role`, which is there, read the records, or read and add to them; nobody may delete any by
// this. By the tables' owner.   NotFound: no such role. Unauthorized.
Result<void> grant_records(const std::string& url, const std::string& role, Access access,
                           const OpenOptions& options);

}  // namespace fettle::records
