// Files that a command writes for -o: complete, or left as they were.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "schemas/wire/result.h"

namespace fettle::app {

// InvalidArgument where `path` is the database `db` itself, by whatever name, or a part of it.
Result<void> check_not_database(const std::string& path, const std::string& db);

// Standard output is a pipe, and nobody is at its other end: it had enough, as `| head` has.
bool reader_is_gone();

// Whether the file at `path` is one of SQLite's, as record databases are.
bool is_database(const std::string& path);
// InvalidArgument where there is a file at `path` that nobody means to lose by a name mistyped: a
// record database; an ONNX model, unless a `model` is to be written; a network that `fettle build`
// wrote, unless a `network` is.
Result<void> check_may_replace(const std::string& path, bool model = false, bool network = false);

// Io where no file can be made in the folder of `path`, for commands that work long before they
// write.
Result<void> check_folder(const std::string& path);

// `write` gets a stream and returns what to tell people of the file. "-" is standard output, else
// as process::replace_file() does it. Errors: those of check_may_replace(), of `write` and of that.
Result<void> with_output_file(const std::string& path,
                              const std::function<Result<std::string>(std::ostream&)>& write,
                              bool network = false);

}  // namespace fettle::app
