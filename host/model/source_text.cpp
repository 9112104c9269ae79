// Including files (source_text.h).
#include "host/model/source_text.h"
#include "schemas/wire/bounded_read.h"

#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>

namespace fettle::model {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 32;

// FILE of a line #include "FILE".
std::optional<std::string> included(const std::string& line) {
  std::istringstream words(line);
  std::string directive;
  words >> std::ws;
  if (words.get() != '#' || !(words >> directive) || !directive.starts_with("include")) return {};
  const std::size_t begin = line.find('"');
  const std::size_t end = begin == std::string::npos ? begin : line.find('"', begin + 1);
  if (end == std::string::npos || line.find('<') < begin) return {};
  return line.substr(begin + 1, end - begin - 1);
}

bool is_pragma_once(const std::string& line) {
  std::istringstream words(line);
  std::string pragma, once;
  words >> pragma >> once;
  return pragma == "#pragma" && once == "once";
}

class Includer {
 public:
  Result<void> add(const fs::path& path, int depth) {
    if (depth > kDeepest) {
      return Error{ErrorCode::InvalidArgument, path.string() + " is included within itself"};
    }
    auto text = contents(path.string());
    if (!text) return std::move(text).error();
    std::istringstream lines(*text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      if (is_pragma_once(line)) {
        if (!once_.insert(path.string()).second) return {};
        text_ += "\n";
        continue;
      }
      const auto file = included(line);
      std::error_code none;
      if (!file || !fs::is_regular_file(path.parent_path() / *file, none)) {
        text_ += line + "\n";
        continue;
      }
      text_ += "#line 1 \"" + *file + "\"\n";
      if (auto added = add(path.parent_path() / *file, depth + 1); !added) return added;
      text_ += "#line " + std::to_string(number + 1) + " \"" + path.filename().string() + "\"\n";
    }
    return {};
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::set<std::string> once_;
};

}  // namespace

Result<std::string> contents(const std::string& path) { return read_whole(path, kMostTextBytes); }

Result<std::string> source_text(const std::string& path) {
  Includer includer;
  if (auto added = includer.add(path, 0); !added) return std::move(added).error();
  return includer.take();
}

}  // namespace fettle::model
