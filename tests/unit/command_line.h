// A test that runs `fettle` with a home folder of its own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "tests/support/running_program.h"

namespace fettle::testing {

class CommandLine : public ::testing::Test {
 protected:
  ProgramResult fettle(std::vector<std::string> words) {
    std::vector<std::string> command{FETTLE_PROGRAM};
    for (std::string& word : words) command.push_back(std::move(word));
    return run_program(
        command, std::chrono::seconds(60),
        {{"FETTLE_HOME", folder.file("home")}, {"FETTLE_AGENT", FETTLE_AGENT_PROGRAM}});
  }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder.file(name)) << text;
    return folder.file(name);
  }
  static std::string contents_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // One line that starts with "fettle: error: " and holds every one of `parts`.
  void expect_error(const ProgramResult& result, int status, std::vector<std::string> parts) {
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_EQ(result.out, "");
    const std::size_t at = result.err.find("fettle: error: ");
    ASSERT_NE(at, std::string::npos) << result.err;
    const std::string line = result.err.substr(at);
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
    for (const std::string& part : parts) {
      EXPECT_NE(line.find(part), std::string::npos) << "no \"" << part << "\" in: " << line;
    }
  }
  // Of a key pair in this account's folder.
  std::string public_key(const std::string& name) {
    const auto listed = fettle({"keys", "list", "--json"}).out;
    const std::string before = "\"name\":\"" + name + "\",\"public_key\":\"";
    const std::size_t at = listed.find(before);
    EXPECT_NE(at, std::string::npos) << listed;
    return at == std::string::npos ? "" : listed.substr(at + before.size(), 40);
  }
  static std::string url_of(const RunningProgram& broker) {
    if (!broker.wait_for_out("public key ", std::chrono::seconds(20))) return broker.err();
    const std::string url = broker.out().substr(broker.out().find("tcp://"));
    return url.substr(0, url.find('\n'));
  }
  std::string small_dense() {
    return write("small.json", R"([{"op": "dense", "batch": 1, "in_features": 64,
      "out_features": 64, "dtype": "float32", "tail": ["bias"]}])");
  }

  ScratchFolder folder;
};

}  // namespace fettle::testing
