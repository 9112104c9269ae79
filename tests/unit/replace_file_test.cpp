// Files that are written whole or not at all.
#include "host/process/replace_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace fettle::process {
namespace {

namespace fs = std::filesystem;

class ReplaceFile : public ::testing::Test {
 protected:
  ReplaceFile() {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  ~ReplaceFile() override { fs::remove_all(folder); }
  void put(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
  }
  Result<void> write(const fs::path& path, const std::string& text) {
    return replace_file(path, [&](std::ostream& out) -> Result<void> {
      out << text;
      out.flush();
      seen = files();
      return {};
    });
  }
  const fs::path folder = fs::path(::testing::TempDir()) / "fettle-replace-file";
  std::size_t seen = 0;  // files of the folder, while one was written
};

TEST_F(ReplaceFile, NothingLiesAboutWhileItIsWritten) {
  const int there = ::open(folder.c_str(), O_TMPFILE | O_RDWR, 0600);
  if (there < 0) GTEST_SKIP() << "this file system has no files without a name";
  ::close(there);
  const fs::path path = folder / "a";
  ASSERT_TRUE(write(path, "one").ok());
  EXPECT_EQ(seen, 0u) << "a process that is killed now leaves nothing";
  EXPECT_EQ(text_of(path), "one");
  ASSERT_TRUE(write(path, "two").ok());
  EXPECT_EQ(seen, 1u);
  EXPECT_EQ(text_of(path), "two");
  EXPECT_EQ(files(), 1u);
}

TEST_F(ReplaceFile, AnErrorLeavesWhatWasThere) {
  const fs::path path = folder / "a";
  put(path, "old");
  const auto done = replace_file(path, [&](std::ostream& out) -> Result<void> {
    out << "new";
    return Error{ErrorCode::Canceled, "enough", {}};
  });
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::Canceled);
  EXPECT_EQ(text_of(path), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(ReplaceFile, AFolderThatIsNotThereIsTold) {
  const auto done = write(folder / "none" / "a", "x");
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::Io);
  EXPECT_NE(done.error().text().find("No such file"), std::string::npos) << done.error().text();
}

TEST_F(ReplaceFile, ALinkStaysOneAndPermissionsStay) {
  put(folder / "real", "old");
  fs::permissions(folder / "real", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("real", folder / "link");
  ASSERT_TRUE(write(folder / "link", "new").ok());
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(text_of(folder / "real"), "new");
  EXPECT_EQ(fs::status(folder / "real").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  // A new one has those that the user's mask leaves.
  const mode_t mask = ::umask(027);
  ASSERT_TRUE(write(folder / "fresh", "x").ok());
  ::umask(mask);
  EXPECT_EQ(static_cast<int>(fs::status(folder / "fresh").permissions()), 0640);
}

// Of a process that had this one's number and was killed.
TEST_F(ReplaceFile, APartThatLiesThereIsNoHindrance) {
  put((folder / "a").string() + "." + std::to_string(::getpid()) + ".part", "left");
  ASSERT_TRUE(write(folder / "a", "new").ok());
  EXPECT_EQ(text_of(folder / "a"), "new");
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace fettle::process
