// The tables of the records, the same in every kind of database, and their version.
#pragma once

#include <cstdint>
#include <string>

#include "host/records/dialect.h"

namespace fettle::records {

inline constexpr std::int64_t kSchemaVersion = 3;  // migrate.h has their list

// CREATE statements of all tables and indexes.
std::string create_tables(Dialect dialect);

// Their names, for rights on them.
std::span<const std::string_view> table_names();

}  // namespace fettle::records
