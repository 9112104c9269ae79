// Golden files (golden_file.h).
#include "tests/golden/golden_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>

namespace fettle::golden {
namespace {

bool update = false;

}  // namespace

int run(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--update-golden") == 0) update = true;
  }
  return RUN_ALL_TESTS();
}

void expect(const std::string& text, const std::string& path) {
  if (update) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str()) << "if this is meant: --update-golden";
}

}  // namespace fettle::golden
