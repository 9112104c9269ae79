// Output files (output_file.h).
#include "host/app/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "host/app/message.h"

namespace fettle::app {
namespace {

namespace fs = std::filesystem;

Error cannot_write(const std::string& path, const std::string& why) {
  return {ErrorCode::Io, "cannot write " + path + ": " + why, {}};
}

// Writes all of `path`, from its beginning.
Result<std::string> write_all(const std::string& path, const std::string& shown,
                              const std::function<Result<std::string>(std::ostream&)>& write) {
  errno = 0;
  std::ofstream file(path, std::ios::trunc);
  if (!file) return cannot_write(shown, std::strerror(errno));
  auto told = write(file);
  file.close();
  if (!told) return told;
  if (!file) {
    return Error{ErrorCode::DiskFull, "cannot write all of " + shown + ": is the disk full?", {}};
  }
  return told;
}

Result<std::string> replace(const std::string& path,
                            const std::function<Result<std::string>(std::ostream&)>& write) {
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (fs::exists(there) && !fs::is_regular_file(there)) return write_all(path, path, write);
  // A link stays one.
  const fs::path place = fs::exists(there) ? fs::canonical(path, error) : fs::path(path);
  const std::string beside = place.string() + "." + std::to_string(::getpid()) + ".part";
  auto told = write_all(beside, path, write);
  if (told && fs::exists(there)) fs::permissions(beside, there.permissions(), error);
  if (told) {
    fs::rename(beside, place, error);
    if (error) told = cannot_write(path, error.message());
  }
  if (!told) fs::remove(beside, error);
  return told;
}

}  // namespace

Result<void> check_not_database(const std::string& path, const std::string& db) {
  std::error_code error;
  if (path == "-" || !fs::equivalent(path, db, error)) return {};
  return Error{ErrorCode::InvalidArgument, "-o " + path + " is the database itself", {}};
}

Result<void> with_output_file(const std::string& path,
                              const std::function<Result<std::string>(std::ostream&)>& write) {
  if (path == "-") {
    const auto told = write(std::cout);
    return told ? Result<void>() : told.error();
  }
  const auto told = replace(path, write);
  if (!told) return told.error();
  note(*told + " written to " + path);
  return {};
}

}  // namespace fettle::app
