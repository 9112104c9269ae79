// What a disk is, as far as it matters before it is overwritten.
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::flash {

struct DiskFacts {
  std::string path;         // as the user named it
  std::uint64_t bytes = 0;  // its size
  bool partition = false;   // a part of a disk: images are of whole disks
  bool removable = false;   // says so itself, hangs on USB, or is an SD card
  // Why it is in use, a line each: where it or a part of it is mounted, swap, and
  // what is stacked on it (LVM, RAID, encryption).
  std::vector<std::string> uses;
  std::vector<std::string> mounted;  // what to unmount, such as /dev/sdb1
};

// Of the block device `path`. `root` is the prefix of /sys and /proc, "" but for tests,
// and `device` then stands for what stat() would say. NotFound; InvalidArgument when
// it is no block device.
Result<DiskFacts> read_disk(const std::string& path);
DiskFacts read_disk_facts(const std::filesystem::path& root, const std::string& path, dev_t device);

// Why an image of `image_bytes` must not be written there. A disk that is too small or
// has no size is refused always; what `force` overrides says so.
Result<void> check_disk(const DiskFacts& disk, std::uint64_t image_bytes, bool force);

}  // namespace fettle::flash
