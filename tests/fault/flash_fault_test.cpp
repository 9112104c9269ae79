// `fettle flash` while the name of its target is moved to another disk.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/support/loop_device.h"
#include "tests/support/running_program.h"

namespace fettle::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMiB = std::size_t{1} << 20;

// Two disks of one kind, a link that leads to either, and an image that fits onto the first
// alone: what is written onto the second was written by a name that had moved.
class SwappedDisks {
 public:
  SwappedDisks()
      : wanted(file("wanted", std::string(16 * kMiB, 'a'))),
        other(file("other", std::string(4 * kMiB, 'b'))) {
    std::string bytes(8 * kMiB, 'i');
    bytes[510] = '\x55', bytes[511] = '\xaa';
    image = file("image", bytes);
    lead_to(wanted);
  }
  void lead_to(const LoopDevice& disk) const {
    const std::string fresh = folder.file("fresh");
    fs::create_symlink(disk.path(), fresh);
    fs::rename(fresh, link());
  }
  std::string link() const { return folder.file("card"); }
  std::string bytes_of(const std::string& name) const {
    std::ifstream in(folder.file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  ScratchFolder folder;
  std::string image;
  LoopDevice wanted, other;

 private:
  std::string file(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder.file(name), std::ios::binary) << bytes;
    return folder.file(name);
  }
};

TEST(Trust, FlashSymlinkSwap) {
  const SwappedDisks disks;
  if (disks.other.path().empty()) GTEST_SKIP() << "no loop devices: " << disks.other.why_not();
  const std::string image = disks.bytes_of("image"), other = disks.bytes_of("other");

  // The link moves while the user reads which disk it is.
  ASSERT_EQ(::mkfifo(disks.folder.file("answer").c_str(), 0600), 0);
  RunningProgram asked({"sh", "-c",
                        R"(exec "$0" flash --image "$1" --to "$2" --force=fixed-disk <>"$3")",
                        FETTLE_PROGRAM, disks.image, disks.link(), disks.folder.file("answer")});
  for (int i = 0; i < 200 && asked.err().find("Type yes: ") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_NE(asked.err().find(disks.folder.file("wanted") + ", 16.0 MiB"), std::string::npos)
      << "model and size: " << asked.err();
  disks.lead_to(disks.other);
  std::ofstream(disks.folder.file("answer")) << "yes\n";
  EXPECT_EQ(asked.wait(std::chrono::seconds(60)), 0) << asked.err();
  EXPECT_EQ(disks.bytes_of("wanted").substr(0, image.size()), image);
  EXPECT_EQ(disks.bytes_of("other"), other);

  // And it moves all the time. The other disk is too small, so each check refuses it.
  std::atomic<bool> stop = false;
  std::thread swaps([&] {
    while (!stop) {
      disks.lead_to(disks.wanted);
      disks.lead_to(disks.other);
    }
  });
  int written = 0, refused = 0;
  for (int round = 0; round < 40; ++round) {
    const auto ran = run_program({FETTLE_PROGRAM, "flash", "--image", disks.image, "--to",
                                  disks.link(), "--force=fixed-disk", "--yes"});
    if (ran.status == 0) ++written;
    if (ran.err.find("the image has 8 MiB") != std::string::npos) ++refused;
    EXPECT_TRUE(ran.status == 0 || ran.err.find("the image has 8 MiB") != std::string::npos)
        << ran.err;
  }
  stop = true;
  swaps.join();
  EXPECT_EQ(disks.bytes_of("other"), other) << written << " written, " << refused << " refused";
  RecordProperty("written", written);
  RecordProperty("refused", refused);
}

TEST(Flash, IsNotDoneUnlessSomebodySaysYes) {
  const SwappedDisks disks;
  if (disks.other.path().empty()) GTEST_SKIP() << "no loop devices: " << disks.other.why_not();
  for (const char* answer : {"", "no", "y", "yes please"}) {
    const auto ran = run_program(
        {"sh", "-c", R"(printf '%s\n' "$3" | "$0" flash --image "$1" --to "$2" --force=fixed-disk)",
         FETTLE_PROGRAM, disks.image, disks.link(), answer});
    EXPECT_EQ(ran.status, 1) << answer;
    EXPECT_NE(ran.err.find("--yes"), std::string::npos) << ran.err;
  }
  EXPECT_EQ(disks.bytes_of("wanted"), std::string(16 * kMiB, 'a'));
}

}  // namespace
}  // namespace fettle::testing
