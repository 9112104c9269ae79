// Made, and removed (work_folder.h).
#include "tests/bench/versions/work_folder.h"

#include <stdlib.h>

namespace fettle::bench {

namespace fs = std::filesystem;

Result<WorkFolder> WorkFolder::open(const std::string& keep) {
  std::error_code failed;
  if (!keep.empty()) {
    fs::create_directories(keep, failed);
    if (failed) return Error{ErrorCode::Io, "no folder " + keep + ": " + failed.message(), {}};
    return WorkFolder(fs::absolute(keep), false);
  }
  std::string pattern = (fs::temp_directory_path() / "fettle-versions-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    return Error{ErrorCode::Io, "no temporary folder " + pattern, {}};
  }
  return WorkFolder(pattern, true);
}

WorkFolder::WorkFolder(fs::path path, bool passing) : path_(std::move(path)), passing_(passing) {}

WorkFolder::WorkFolder(WorkFolder&& from) noexcept
    : path_(std::move(from.path_)), passing_(from.passing_) {
  from.passing_ = false;
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  if (passing_) fs::remove_all(path_, ignored);
}

}  // namespace fettle::bench
