// Oclgrind in this process (oclgrind.h).
#include "tests/support/oclgrind.h"

#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace fettle::testing {
namespace {

constexpr const char* kLibrary = "/usr/lib/oclgrind/liboclgrind-rt.so";

}  // namespace

Result<Oclgrind> Oclgrind::open() {
  if (!std::filesystem::exists(kLibrary)) {
    return Error{ErrorCode::NotFound, "no Oclgrind here (package oclgrind)"};
  }
  // One for the process: the library reads its environment when its device is made.
  static const std::string log =
      (std::filesystem::temp_directory_path() / ("oclgrind-" + std::to_string(getpid()))).string();
  setenv("OCLGRIND_DATA_RACES", "1", 1);
  setenv("OCLGRIND_MAX_ERRORS", "1000000", 1);  // else it falls silent after a thousand
  setenv("OCLGRIND_LOG", log.c_str(), 1);
  auto opencl = WatchedOpenCl::open(kLibrary);
  if (!opencl) return std::move(opencl).error();
  Oclgrind made(std::move(*opencl), log);
  (void)made.complaints();  // of another test
  return made;
}

std::string Oclgrind::complaints() {
  std::ifstream file(log_, std::ios::binary);
  const std::string all(std::istreambuf_iterator<char>(file), {});
  const std::string fresh = read_ < all.size() ? all.substr(read_) : "";
  read_ = all.size();
  return fresh;
}

}  // namespace fettle::testing
