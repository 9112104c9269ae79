// ZIP archives in memory: entries that are stored or deflated, written stored.
#pragma once

#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle {

struct ZipEntry {
  std::string name;
  std::string contents;
};

// Malformed: no archive, or one that ends early; Unsupported: encrypted, of another compression, or
// over 4 GiB.
Result<std::vector<ZipEntry>> parse_zip(const std::string& archive);

// InvalidArgument: 4 GiB or more, or 65,535 entries.
Result<std::string> zip_archive(const std::vector<ZipEntry>& entries);

}  // namespace fettle
