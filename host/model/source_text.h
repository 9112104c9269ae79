// A source file with what it includes, as one text: what travels to compilers elsewhere.
#pragma once

#include <string>

#include "schemas/wire/result.h"

namespace fettle::model {

// NotFound: it cannot be read.
Result<std::string> contents(const std::string& path);

// Lines #include "FILE" become that file, where it lies beside the one that includes it; with
// #line, so that compilers name the right file and line. One with #pragma once comes once.
// Other includes stay as they are. NotFound as contents; InvalidArgument: they include each other.
Result<std::string> source_text(const std::string& path);

}  // namespace fettle::model
