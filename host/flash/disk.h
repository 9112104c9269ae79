// What a disk is, as far as it matters before it is overwritten.
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "host/flash/checks.h"
#include "host/flash/open_file.h"
#include "schemas/wire/result.h"

namespace fettle::flash {

struct DiskFacts {
  std::string path;         // as the user named it
  std::string model;        // vendor and model, or a loop device's file; as the disk says it
  std::uint64_t bytes = 0;  // its size
  bool partition = false;   // a part of a disk: images are of whole disks
  bool removable = false;   // says so itself, hangs on USB, or is an SD card
  // The running system is on it, or its swap space, or it is mounted where that may look; or
  // something has it that cannot be traced.
  bool system = false;
  // Why it is in use, a line each: where it or a part of it is mounted, swap, and
  // what is stacked on it (LVM, RAID, encryption).
  std::vector<std::string> uses;
  std::vector<std::string> mounted;  // what to unmount, such as /dev/sdb1
};

// Opens the block device `path` for writing, and no other: with O_EXCL, so that the kernel
// refuses one that is in use and lets nobody mount it until it is closed (unless
// Check::InUse is dropped). NotFound; InvalidArgument when it is no block device, or in use.
Result<OpenFile> open_disk(const std::string& path, const DroppedChecks& dropped);

// Of the device that open_disk() opened with these. Io.
Result<DiskFacts> read_disk(const OpenFile& disk, const DroppedChecks& dropped);
// `root` is the prefix of /sys and /proc; for tests, which have no such device.
DiskFacts read_disk_facts(const std::filesystem::path& root, const std::string& path, dev_t device);

// Why an image of `image_bytes` must not be written there. A disk that is too small or
// has no size is refused always; else the refusal names the check that --force may drop.
Result<void> check_disk(const DiskFacts& disk, std::uint64_t image_bytes,
                        const DroppedChecks& dropped);

// One line for the person who is asked: "/dev/sdb: SanDisk Ultra, 29.7 GiB, removable".
std::string describe(const DiskFacts& disk);

}  // namespace fettle::flash
