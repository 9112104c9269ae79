// The blobs of a broker's state: a file each, named by its hash, in a folder of their own.
#pragma once

#include <filesystem>
#include <set>

#include "host/fleet/blob_store.h"

namespace fettle::fleet {

class StateBlobs {
 public:
  // Makes the folder if it is not there. Io.
  static Result<StateBlobs> open(const std::filesystem::path& folder);
  // Io, DiskFull: there is no such file then.
  Result<void> keep(const wire::Hash& hash, const StoredBlob& blob) const;
  void drop(const wire::Hash& hash) const;
  // Malformed: its bytes do not have that hash; NotFound, Io.
  Result<StoredBlob> read(const wire::Hash& hash) const;
  // Removes all other files: halves of what was being written, and what no row names.
  void keep_only(const std::set<std::string>& names) const;

 private:
  explicit StateBlobs(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;
};

}  // namespace fettle::fleet
