// Files written whole, or left as they were.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "schemas/wire/result.h"

namespace fettle::process {

// `write` gets a stream. The file is written beside its place and renamed at the end, so that an
// error leaves an earlier one as it was. Until then it has no name, and is gone if this process
// ends; where the file system has no such files it is called PATH.PID.part. A link stays one, and
// what is no file (a pipe, a device) is written to as it is. Once this returns, the file is on the
// disk under its name: some milliseconds, nothing for thousands of files. Errors: those of `write`;
// Io, with the system's reason; DiskFull.
Result<void> replace_file(const std::string& path,
                          const std::function<Result<void>(std::ostream&)>& write);

}  // namespace fettle::process
