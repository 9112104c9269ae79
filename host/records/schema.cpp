// Which kind of database a name means (schema.h).
#include "host/records/schema.h"

#include "host/records/postgres_schema.h"
#include "host/records/postgres_url.h"
#include "host/records/sqlite_file.h"

namespace fettle::records {
namespace {

template <typename Kind>
Result<std::unique_ptr<Connection>> any_kind(Result<std::unique_ptr<Kind>> opened) {
  if (!opened) return std::move(opened).error();
  return std::unique_ptr<Connection>(std::move(*opened));
}

}  // namespace

bool is_server(const std::string& name) { return is_postgres_url(name); }

std::string shown_database(const std::string& name) {
  return is_server(name) ? without_password(name) : name;
}

Result<std::unique_ptr<Connection>> open_checked(const std::string& name,
                                                 const OpenOptions& options) {
  if (is_server(name)) return any_kind(open_postgres(name, options));
  if (const std::size_t scheme = name.find("://"); scheme != std::string::npos) {
    return Error{ErrorCode::InvalidArgument,
                 "no database of the kind '" + name.substr(0, scheme) +
                     "': name a file, or postgresql://USER@HOST/DATABASE",
                 {}};
  }
  return any_kind(open_file(name, options));
}

}  // namespace fettle::records
