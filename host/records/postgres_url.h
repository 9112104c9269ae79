// URLs of PostgreSQL databases as libpq reads them, postgresql://USER:PASSWORD@HOST/DATABASE?…, and
// how they are shown: a password never is.
#pragma once

#include <string>
#include <string_view>

#include "schemas/wire/result.h"

namespace fettle::records {

// postgresql:// or postgres://
bool is_postgres_url(std::string_view name);

// With *** in the place of passwords, also of one that libpq would take for something else.
std::string without_password(const std::string& url);

// InvalidArgument: libpq would take a part of a password for a host or a port, and tell it: a
// character in it must be percent-encoded. Or libpq cannot read the URL.
Result<void> check_postgres_url(const std::string& url);

}  // namespace fettle::records
