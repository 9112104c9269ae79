// Disks on a fake sysfs, and images written to files and to a loop device.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>

#include "host/flash/disk.h"
#include "host/flash/write_image.h"
#include "tests/support/loop_device.h"
#include "tests/support/running_program.h"

namespace fettle::flash {
namespace {

using testing::ScratchFolder;

const DroppedChecks kAll = {Check::InUse, Check::SystemDisk, Check::FixedDisk, Check::Partition,
                            Check::BootSignature};

class Disks : public ::testing::Test {
 protected:
  void put(const std::string& file, const std::string& text) {
    const auto at = std::filesystem::path(folder.file("root")) / file;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at) << text;
  }
  // A disk of 8 GiB as sysfs shows it: sys/dev/block/8:16 is a link to its place.
  void put_disk(const std::string& place, const std::string& number, const std::string& removable) {
    put(place + "/size", "16777216\n");
    put(place + "/removable", removable + "\n");
    link(place, number);
  }
  void link(const std::string& place, const std::string& number) {
    const std::filesystem::path root = folder.file("root");
    std::filesystem::create_directories(root / "sys/dev/block");
    std::filesystem::create_symlink(root / place, root / "sys/dev/block" / number);
  }
  DiskFacts read(unsigned minor_number) const {
    return read_disk_facts(folder.file("root"), "/dev/sdx", makedev(8, minor_number));
  }
  static std::string why(const DiskFacts& disk, std::uint64_t bytes, DroppedChecks dropped = {}) {
    const auto checked = check_disk(disk, bytes, dropped);
    return checked ? "" : checked.error().text();
  }
  ScratchFolder folder;
};

TEST_F(Disks, ACardMayBeWritten) {
  put_disk("sys/devices/pci/sdb", "8:16", "1");
  const auto card = read(16);
  EXPECT_EQ(card.bytes, std::uint64_t{8} << 30);
  EXPECT_TRUE(card.removable);
  EXPECT_TRUE(card.uses.empty());
  EXPECT_EQ(why(card, std::uint64_t{8} << 30), "");
  EXPECT_NE(why(card, (std::uint64_t{8} << 30) + 1).find("8192 MiB"), std::string::npos);
  EXPECT_NE(why(card, (std::uint64_t{8} << 30) + 1, kAll), "") << "force makes no room";
}

TEST_F(Disks, SticksAndSdCardsAreRemovableWhateverTheySay) {
  put_disk("sys/devices/pci/usb3/3-1/sdc", "8:32", "0");
  EXPECT_TRUE(read(32).removable);
  put_disk("sys/devices/platform/mmc0/mmcblk0", "8:48", "0");
  EXPECT_FALSE(read(48).removable);
  put("sys/devices/platform/mmc0/mmcblk0/device/type", "SD\n");
  EXPECT_TRUE(read(48).removable);
}

TEST_F(Disks, FixedAndPartitionsAndWhatIsInUseNeedForce) {
  put_disk("sys/devices/pci/sda", "8:0", "0");
  EXPECT_NE(why(read(0), 1).find("fixed disk"), std::string::npos);
  EXPECT_NE(why(read(0), 1).find("--force=fixed-disk"), std::string::npos);
  EXPECT_EQ(why(read(0), 1, {Check::FixedDisk}), "");

  put_disk("sys/devices/pci/sdb", "8:16", "1");
  put("sys/devices/pci/sdb/sdb1/partition", "1\n");
  put("sys/devices/pci/sdb/sdb1/dev", "8:17\n");
  put("sys/devices/pci/sdb/sdb1/size", "2048\n");
  link("sys/devices/pci/sdb/sdb1", "8:17");
  EXPECT_TRUE(read(17).partition);
  EXPECT_TRUE(read(17).removable) << "as its disk is";
  EXPECT_NE(why(read(17), 1).find("is a partition"), std::string::npos);
  EXPECT_EQ(why(read(17), 1, {Check::Partition}), "");

  put("proc/self/mountinfo",
      "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n40 22 8:17 / /media/card rw - vfat /dev/sdb1 rw\n");
  put("proc/swaps", "Filename Type Size\n/dev/sdb partition 100 0 -2\n");
  put("sys/devices/pci/sdb/sdb1/holders/dm-0", "");
  const auto used = read(16);
  EXPECT_EQ(used.uses,
            (std::vector<std::string>{"sdb is swap space", "sdb1 is mounted on /media/card",
                                      "sdb1 is a part of dm-0"}));
  EXPECT_NE(why(used, 1).find("on /media/card"), std::string::npos);
  EXPECT_NE(why(used, 1).find("; umount /dev/sdb1 first"), std::string::npos);
  EXPECT_NE(why(used, 1, {Check::FixedDisk, Check::Partition}).find("--force=in-use"),
            std::string::npos);
  EXPECT_NE(why(used, 1, {Check::InUse}).find("--force=system-disk"), std::string::npos)
      << "swap space";
  EXPECT_EQ(why(used, 1, {Check::InUse, Check::SystemDisk}), "");
}

// The root file system on LVM on an encrypted partition; and one of btrfs, whose number in
// mountinfo is no device's.
TEST_F(Disks, TheRunningSystemIsFoundThroughWhatIsStacked) {
  put_disk("sys/devices/pci/usb1/sda", "8:0", "0");
  put("sys/devices/pci/usb1/sda/sda2/partition", "2\n");
  put("sys/devices/pci/usb1/sda/sda2/dev", "8:2\n");
  put("sys/devices/pci/usb1/sda/sda2/holders/dm-0/dev", "252:0\n");
  put("sys/devices/pci/usb1/sda/sda2/holders/dm-0/holders/dm-1/dev", "252:1\n");
  put("proc/self/mountinfo", "22 1 252:1 / / rw shared:1 - ext4 /dev/mapper/root rw\n");
  EXPECT_TRUE(read(0).system);
  EXPECT_NE(why(read(0), 1, {Check::InUse}).find("--force=system-disk"), std::string::npos);
  put("proc/self/mountinfo", "22 1 0:29 /@ / rw shared:1 - btrfs /dev/sda2 rw\n");
  EXPECT_TRUE(read(0).system);
  put("proc/self/mountinfo", "22 1 0:29 /@ /media/x rw shared:1 - btrfs /dev/sda2 rw\n");
  EXPECT_FALSE(read(0).system);
  EXPECT_EQ(read(0).mounted, std::vector<std::string>{"/dev/sda2"});
  // btrfs on what is encrypted: named as the mapper names it.
  put("sys/devices/pci/usb1/sda/sda2/holders/dm-0/dm/name", "luks-1\n");
  put("proc/self/mountinfo", "22 1 0:29 /@ / rw shared:1 - btrfs /dev/mapper/luks-1 rw\n");
  EXPECT_TRUE(read(0).system);
  // On several devices, of which mountinfo names another one.
  put("proc/self/mountinfo", "22 1 0:29 /@ / rw shared:1 - btrfs /dev/sdc1 rw\n");
  EXPECT_FALSE(read(0).system);
  put("sys/fs/btrfs/1234/devices/sda2", "");
  put("sys/fs/btrfs/1234/devices/sdc1", "");
  EXPECT_TRUE(read(0).system);
}

TEST_F(Disks, AMountIsTheRunningSystemsButWhereGuestsAre) {
  put_disk("sys/devices/pci/usb1/sda", "8:0", "1");
  const auto mounted_on = [&](const std::string& where) {
    put("proc/self/mountinfo", "22 1 8:0 / " + where + " rw - ext4 /dev/sda rw\n");
    return read(0).system;
  };
  for (const char* where : {"/", "/boot/efi", "/home", "/cdrom", "/run/live/medium",
                            "/run/initramfs/live", "/media/root-ro", "/srv/data"}) {
    EXPECT_TRUE(mounted_on(where)) << where;
  }
  for (const char* where : {"/mnt", "/mnt/card", "/media/me/card", "/run/media/me/card"}) {
    EXPECT_FALSE(mounted_on(where)) << where;
  }
}

TEST_F(Disks, AreDescribedByModelAndSize) {
  put_disk("sys/devices/pci/usb3/sdb", "8:16", "1");
  put("sys/devices/pci/usb3/sdb/device/vendor", "SanDisk \n");
  put("sys/devices/pci/usb3/sdb/device/model", "Ultra           \n");
  EXPECT_EQ(describe(read(16)), "/dev/sdx: SanDisk Ultra, 8.0 GiB, removable");
  put_disk("sys/devices/mmc0/mmcblk0", "8:48", "0");
  put("sys/devices/mmc0/mmcblk0/device/name", "SC32G\n");
  EXPECT_EQ(describe(read(48)), "/dev/sdx: SC32G, 8.0 GiB, fixed");
}

TEST_F(Disks, UnknownOnesHaveNoRoom) { EXPECT_NE(why(read(99), 1, kAll), ""); }

class Images : public ::testing::Test {
 protected:
  // 9 MiB and a bit: three pieces, the last not whole sectors.
  std::string make_image() {
    std::string bytes;
    for (std::uint32_t i = 0; bytes.size() < (9u << 20) + 1234; ++i) {
      const std::uint32_t mixed = i * 2654435761u;
      bytes.append(reinterpret_cast<const char*>(&mixed), 4);
    }
    bytes.resize((9u << 20) + 1234);
    return write("board.img", bytes);
  }
  std::string write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder.file(name), std::ios::binary) << bytes;
    return folder.file(name);
  }
  static OpenFile opened(const std::string& path, int flags = O_RDWR) {
    auto file = OpenFile::open(path, flags);
    EXPECT_TRUE(file.ok()) << file.error().text();
    return std::move(file).value();
  }
  static bool go_on(const char*, std::uint64_t, std::uint64_t) { return true; }
  ScratchFolder folder;
};

TEST_F(Images, PackedOnesAreRefused) {
  const auto why = [&](const std::string& start, bool force) {
    std::string bytes = start;
    bytes.resize(1024);
    const auto checked =
        check_image(opened(write("pynq.img", bytes)), force ? kAll : DroppedChecks());
    return checked ? "" : checked.error().message;
  };
  const std::pair<std::string, const char*> packed[] = {
      {"PK\x03\x04", "(unzip "},
      {"\x1f\x8b\x08", "(gunzip --keep "},
      {std::string("\xfd\x37\x7a\x58\x5a\x00", 6), "(unxz --keep "},
      {"BZh9", "(bunzip2 --keep "},
      {"\x28\xb5\x2f\xfd", "(unzstd "}};
  for (const auto& [start, command] : packed) {
    for (const bool force : {false, true}) {
      EXPECT_NE(why(start, force).find(command), std::string::npos) << why(start, force);
    }
  }
  const std::string nothing(510, '\0');
  EXPECT_EQ(why(nothing + "\x55\xaa", false), "");
  EXPECT_NE(why(nothing + "\xaa\x55", false).find("--force=boot-signature"), std::string::npos);
  EXPECT_EQ(why(nothing, true), "");
  EXPECT_FALSE(check_image(opened(write("empty.img", "")), kAll).ok());
  EXPECT_FALSE(check_image(opened(write("short.img", "U\xaa")), {}).ok());
}

TEST_F(Images, AreCheckedUnderTheLockThatTheyAreWrittenUnder) {
  const auto image = make_image(), disk = write("disk", std::string(12u << 20, 'x'));
  int held = 0, checks = 0;
  const auto written = write_image(opened(image), opened(disk),
                                   [&](const char* phase, std::uint64_t, std::uint64_t) {
                                     const int fd = ::open(disk.c_str(), O_RDONLY | O_CLOEXEC);
                                     if (::flock(fd, LOCK_SH | LOCK_NB) != 0) ++held;
                                     ::close(fd);
                                     if (phase == std::string("checking")) ++checks;
                                     return true;
                                   });
  ASSERT_TRUE(written.ok()) << written.error().text();
  EXPECT_EQ(held, 6);
  EXPECT_EQ(checks, 3);
}

TEST_F(Images, WrittenAndReadBack) {
  const auto image = make_image(), disk = write("disk", std::string(12u << 20, 'x'));
  std::string phases;
  const auto written = write_image(opened(image), opened(disk),
                                   [&](const char* phase, std::uint64_t done, std::uint64_t total) {
                                     if (done == total) phases += phase + std::string(" ");
                                     return true;
                                   });
  ASSERT_TRUE(written.ok()) << written.error().text();
  EXPECT_EQ(phases, "writing checking ");
  EXPECT_EQ(std::filesystem::file_size(disk), 12u << 20) << "what lies behind it stays";
  EXPECT_TRUE(verify_image(opened(image), opened(disk), go_on).ok());
  // One bit, somewhere in the last piece.
  std::fstream flip(disk, std::ios::in | std::ios::out | std::ios::binary);
  flip.seekg(9 << 20);
  const char byte = static_cast<char>(flip.get() ^ 1);
  flip.seekp(9 << 20);
  flip.put(byte);
  flip.close();
  const auto spoilt = verify_image(opened(image), opened(disk), go_on);
  ASSERT_FALSE(spoilt.ok());
  EXPECT_NE(spoilt.error().message.find("from byte " + std::to_string(9 << 20)), std::string::npos)
      << spoilt.error().message;
}

TEST_F(Images, StopsWhenToldAndFailsOnAFullDisk) {
  const auto image = make_image(), disk = write("disk", "");
  const auto stopped =
      write_image(opened(image), opened(disk),
                  [](const char*, std::uint64_t done, std::uint64_t) { return done < 5 << 20; });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::Canceled);
  const auto full = write_image(opened(image), opened("/dev/full"), go_on);
  ASSERT_FALSE(full.ok());
  EXPECT_NE(full.error().text().find("No space left"), std::string::npos) << full.error().text();
  EXPECT_EQ(open_image(folder.file("absent")).error().code, ErrorCode::NotFound);
  EXPECT_FALSE(write_image(opened(folder.path(), O_RDONLY), opened(disk), go_on).ok());
}

// What ends too soon is no error of the system's, whose last one may be of anything.
TEST_F(Images, WhatEndsTooSoonIsSaidToEnd) {
  const auto image = make_image(), disk = write("disk", "");
  ASSERT_TRUE(write_image(opened(image), opened(disk), go_on).ok());
  errno = ENOTTY;
  std::filesystem::resize_file(disk, (5u << 20) + 7);
  const auto shorter = verify_image(opened(image), opened(disk), go_on);
  ASSERT_FALSE(shorter.ok());
  EXPECT_EQ(shorter.error().message,
            "reading " + disk + " back: it ends at byte " + std::to_string((5u << 20) + 7));
  ASSERT_TRUE(write_image(opened(image), opened(disk), go_on).ok());
  const auto cut = verify_image(opened(image), opened(disk),
                                [&](const char*, std::uint64_t done, std::uint64_t) {
                                  std::filesystem::resize_file(image, done);
                                  errno = ENOTTY;
                                  return true;
                                });
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().message, image + " became shorter while it was read");
}

TEST_F(Images, OntoALoopDevice) {
  const auto image = make_image(), backing = write("backing", std::string(16u << 20, 0));
  const testing::LoopDevice loop(backing);
  if (loop.path().empty()) GTEST_SKIP() << "no loop devices here: " << loop.why_not();
  {
    const auto to = open_disk(loop.path(), {});
    ASSERT_TRUE(to.ok()) << to.error().text();
    const auto disk = read_disk(*to, {});
    ASSERT_TRUE(disk.ok()) << disk.error().text();
    if (disk->bytes == 0) GTEST_SKIP() << "no sysfs here";
    EXPECT_EQ(disk->bytes, 16u << 20);
    EXPECT_EQ(disk->model, backing);
    EXPECT_FALSE(check_disk(*disk, 9 << 20, {}).ok());
    EXPECT_FALSE(check_disk(*disk, 17 << 20, kAll).ok());
    // While it is open, nobody else has it for himself: it cannot be mounted.
    const auto second = open_disk(loop.path(), {});
    ASSERT_FALSE(second.ok());
    EXPECT_NE(second.error().text().find("is in use"), std::string::npos) << second.error().text();
    const auto written = write_image(opened(image), *to, go_on);
    ASSERT_TRUE(written.ok()) << written.error().text();
  }
  EXPECT_TRUE(verify_image(opened(image), opened(backing), go_on).ok())
      << "the bytes are in the device's file";
}

TEST_F(Images, AMountedDiskIsRefusedByTheKernel) {
  const auto backing = write("backing", std::string(16u << 20, 0));
  const testing::LoopDevice loop(backing);
  if (loop.path().empty()) GTEST_SKIP() << "no loop devices here: " << loop.why_not();
  if (testing::run_program({"mkfs.ext4", "-q", loop.path()}).status != 0) {
    GTEST_SKIP() << "no mkfs.ext4 here";
  }
  std::filesystem::create_directory(folder.file("mounted"));
  if (testing::run_program({"mount", loop.path(), folder.file("mounted")}).status != 0) {
    GTEST_SKIP() << "nothing may be mounted here";
  }
  const auto refused = open_disk(loop.path(), {Check::FixedDisk});
  const bool dropped = open_disk(loop.path(), {Check::InUse}).ok();
  testing::run_program({"umount", folder.file("mounted")});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("; umount " + loop.path() + " first"), std::string::npos)
      << refused.error().text();
  EXPECT_TRUE(dropped);
}

}  // namespace
}  // namespace fettle::flash
