// A program run to its end, what it writes kept in files: how a bench drives other builds.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "host/tune/pipeline.h"
#include "schemas/wire/result.h"

namespace fettle::bench {

struct ChildLogs {
  std::filesystem::path output, errors;  // standard output and error; emptied first
};

// Wall-clock seconds of the whole process. An exit status other than 0 is an Error that
// quotes the last lines of `errors`. Canceled: `stop` was requested, and the child has ended
// by then (SIGTERM, and SIGKILL where five seconds do not suffice). argv[0]: a path, or in PATH.
Result<double> run_logged(const std::vector<std::string>& argv, const ChildLogs& logs,
                          const tune::StopSignal& stop);

// The whole of a file.
Result<std::string> text_of_file(const std::filesystem::path& path);

}  // namespace fettle::bench
