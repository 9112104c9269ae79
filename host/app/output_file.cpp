// Output files (output_file.h).
#include "host/app/output_file.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>

#include "host/app/message.h"
#include "host/model/pieces/onnx_tasks.h"
#include "host/process/replace_file.h"

namespace fettle::app {

namespace fs = std::filesystem;

Result<void> check_not_database(const std::string& path, const std::string& db) {
  std::error_code error;
  if (path == "-") return {};
  for (const char* beside : {"", "-wal", "-shm", "-journal"}) {
    if (!fs::equivalent(path, db + beside, error)) continue;
    return Error{ErrorCode::InvalidArgument,
                 "-o " + path + " is the database itself" + (*beside ? ", a part of it" : ""),
                 {}};
  }
  return {};
}

bool reader_is_gone() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

namespace {

bool starts_with(const std::string& path, std::string_view magic) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  std::string start(magic.size(), '\0');
  std::ifstream(path, std::ios::binary).read(start.data(), std::ssize(start));
  return start == magic;
}

// schemas/network/network_file.h
bool is_network_file(const std::string& path) { return starts_with(path, "FETTLNET"); }

}  // namespace

bool is_database(const std::string& path) { return starts_with(path, "SQLite format 3"); }

Result<void> check_may_replace(const std::string& path, bool model, bool network) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  const char* what = is_database(path)                     ? "a record database"
                     : !network && is_network_file(path)   ? "a network that fettle built"
                     : !model && model::is_onnx_file(path) ? "an ONNX model"
                                                           : nullptr;
  if (what == nullptr) return {};
  return Error{ErrorCode::InvalidArgument,
               "-o " + path + " is " + what + ", which is not written over: name another file",
               {}};
}

Result<void> check_folder(const std::string& path) {
  std::error_code error;
  fs::path target(path);
  if (path == "-" || (fs::exists(target, error) && !fs::is_regular_file(target, error))) return {};
  // Of a link, where it leads to: there the file is replaced.
  if (fs::exists(target, error)) target = fs::canonical(target, error);
  const fs::path inside = target.parent_path() / ".";  // of a file there is none
  if (::access(inside.c_str(), W_OK | X_OK) == 0) return {};
  return Error{ErrorCode::Io, "cannot write " + path + ": " + std::strerror(errno), {}};
}

Result<void> with_output_file(const std::string& path,
                              const std::function<Result<std::string>(std::ostream&)>& write,
                              bool network) {
  if (path == "-") {
    const auto told = write(std::cout);
    return told || reader_is_gone() ? Result<void>() : told.error();  // run_program() sees to that
  }
  if (auto may = check_may_replace(path, false, network); !may) return may;
  std::string told;
  auto written = process::replace_file(path, [&](std::ostream& out) -> Result<void> {
    auto done = write(out);
    if (!done) return std::move(done).error();
    told = std::move(*done);
    return {};
  });
  if (written) note(told + " written to " + path);
  return written;
}

}  // namespace fettle::app
