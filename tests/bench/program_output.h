// What tests of benchmarks' command lines share: their JSON lines, and a folder.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace fettle::bench {

struct Output {
  int status = -1;
  std::vector<nlohmann::json> lines;
};

inline Output run(const std::string& command) {
  Output output;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  std::string all;
  for (int c; (c = std::fgetc(pipe)) != EOF;) all += static_cast<char>(c);
  output.status = pclose(pipe);
  for (std::size_t from = 0, to; (to = all.find('\n', from)) != std::string::npos; from = to + 1) {
    output.lines.push_back(nlohmann::json::parse(all.substr(from, to - from), nullptr, false));
    EXPECT_TRUE(output.lines.back().is_object()) << all.substr(from, to - from);
  }
  return output;
}

// A folder of its own, gone at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fettle-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace fettle::bench
