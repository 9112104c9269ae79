// Files that a command writes for -o: complete, or left as they were.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "schemas/wire/result.h"

namespace fettle::app {

// InvalidArgument where `path` is the database `db` itself, by whatever name.
Result<void> check_not_database(const std::string& path, const std::string& db);

// `write` gets a stream and returns what to tell people of the file. "-" is standard output. A
// file is written beside its place and renamed at the end, so that an error leaves an earlier one
// as it was; what is no file (a pipe, a device) is written to as it is.
// Errors: those of `write`; Io, DiskFull.
Result<void> with_output_file(const std::string& path,
                              const std::function<Result<std::string>(std::ostream&)>& write);

}  // namespace fettle::app
