// Where a database may lie: SQLite trusts the locks of the file system, and network file systems
// do not always hold them.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/wire/result.h"

namespace fettle::records {

struct FileSystem {
  std::uint32_t magic = 0;    // statfs(2)'s f_type
  std::string mount_options;  // "rw,vers=3,nolock"; of the server's side, as mountinfo has them
};

// What is asked of the system; tests answer in its place.
class FileSystemProbe {
 public:
  virtual ~FileSystemProbe() = default;
  // Of `path`, or of its folder while it is not there. Io.
  virtual Result<FileSystem> at(const std::string& path) const = 0;
  // Whether one process's fcntl lock on the file keeps another out of it, for real: two
  // children try it. The file is made if it is not there and `create` is set.
  virtual bool locks_hold(const std::string& path, bool create) const = 0;
};
const FileSystemProbe& system_probe();

enum class DatabasePlace { Local, Network };

// Network: locks hold there, but no memory is shared with other machines, so there is no
// write-ahead log. Io with what to do, where locks do not hold.
Result<DatabasePlace> place_of(const std::string& path, bool create, const FileSystemProbe& probe);

}  // namespace fettle::records
