// What SQLite's SQL and PostgreSQL's say differently. The project's queries and tables are written
// once, in SQLite's words where a word must be chosen; the rest of what they use is the same in
// both: ON CONFLICT, RETURNING, NULLS FIRST, WITH, window functions, CAST.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fettle::records {

enum class Dialect { Sqlite, Postgres };

struct Column {
  std::string_view name;
  // In a column's type: {id}, {integer}, {real}, {text}; the rest is SQL.
  std::string_view type;
};

// A text of any length: PostgreSQL's indexes hold 2700 bytes at most, so it is told apart by its
// hash there.
struct Key {
  std::string_view column;
  bool long_text = false;
};

struct TableForm {
  std::string_view name;
  std::span<const Column> columns;
  std::span<const Key> once;  // no two rows have the same of these; empty: nothing of the kind
};

// "CREATE TABLE …;", with what keeps its rows unique.
std::string create_table(const TableForm& table, Dialect dialect);

// A query with ?1, ?2, … as PostgreSQL takes it: $1, $2, …, and json_extract(t.column, '$.a.b').
// What is in quotes stays as it is.
std::string postgres_query(std::string_view sql);

}  // namespace fettle::records
