// Where the files of other builds' runs lie: databases, and what the programs say.
#pragma once

#include <filesystem>
#include <string>

#include "schemas/wire/result.h"

namespace fettle::bench {

// Gone with this object, unless its files are to be kept.
class WorkFolder {
 public:
  // `keep`: the folder's path, made where it is not there; empty: a temporary one.
  static Result<WorkFolder> open(const std::string& keep);
  WorkFolder(WorkFolder&& from) noexcept;
  ~WorkFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  WorkFolder(std::filesystem::path path, bool passing);
  std::filesystem::path path_;
  bool passing_;
};

}  // namespace fettle::bench
