// A system root of made-up files, for what the agent reads below /proc and /sys.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "agent/platform/system_root.h"

namespace fettle::agent {

class FakeRoot : public testing::Test {
 protected:
  FakeRoot() {
    path = std::filesystem::temp_directory_path() / ("fettle-root-" + std::to_string(getpid()));
  }
  ~FakeRoot() override { std::filesystem::remove_all(path); }
  void put(const std::string& file, const std::string& text) {
    const auto at = path / file.substr(1);
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at) << text;
  }
  SystemRoot root() const { return SystemRoot(path.string()); }
  std::filesystem::path path;
};

}  // namespace fettle::agent
