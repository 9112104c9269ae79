// Disks by sysfs, /proc/self/mountinfo and /proc/swaps (disk.h).
#include "host/flash/disk.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace fettle::flash {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) out.push_back(entry.path());
  return out;
}

// The disk's numbers "8:16" and those of its partitions, with their names.
struct Part {
  std::string number, name;
  fs::path sysfs;
};

std::vector<Part> parts_of(const fs::path& sysfs, const std::string& number) {
  std::vector<Part> parts = {{number, sysfs.filename().string(), sysfs}};
  for (const fs::path& at : entries(sysfs)) {
    if (!fs::exists(at / "partition")) continue;
    parts.push_back({first_line(at / "dev"), at.filename().string(), at});
  }
  return parts;
}

void add_uses(const fs::path& root, const Part& part, DiskFacts& disk) {
  std::ifstream mounts(root / "proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string id, parent, number, inside, where;
    words >> id >> parent >> number >> inside >> where;
    if (number != part.number) continue;
    disk.uses.push_back(part.name + " is mounted on " + where);
    disk.mounted.push_back("/dev/" + part.name);
  }
  std::ifstream swaps(root / "proc/swaps");
  for (std::string line; std::getline(swaps, line);) {
    const std::string file = line.substr(0, line.find_first_of(" \t"));
    if (file == "/dev/" + part.name) disk.uses.push_back(part.name + " is swap space");
  }
  for (const fs::path& holder : entries(part.sysfs / "holders")) {
    disk.uses.push_back(part.name + " is a part of " + holder.filename().string());
  }
}

}  // namespace

DiskFacts read_disk_facts(const fs::path& root, const std::string& path, dev_t device) {
  DiskFacts disk;
  disk.path = path;
  const std::string number = fmt::format("{}:{}", major(device), minor(device));
  std::error_code failed;
  fs::path sysfs = fs::canonical(root / "sys/dev/block" / number, failed);
  if (failed) return disk;
  disk.bytes = std::strtoull(first_line(sysfs / "size").c_str(), nullptr, 10) * 512;
  disk.partition = fs::exists(sysfs / "partition");
  const fs::path whole = disk.partition ? sysfs.parent_path() : sysfs;
  // Card readers that are not on USB call their SD card fixed.
  disk.removable = first_line(whole / "removable") == "1" ||
                   whole.string().find("/usb") != std::string::npos ||
                   first_line(whole / "device/type") == "SD";
  for (const Part& part : parts_of(sysfs, number)) add_uses(root, part, disk);
  return disk;
}

Result<DiskFacts> read_disk(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    return Error{ErrorCode::NotFound, path + ": " + std::strerror(errno), {}};
  }
  if (!S_ISBLK(status.st_mode)) {
    return Error{
        ErrorCode::InvalidArgument,
        path + " is no disk: --to takes a block device such as /dev/sdb (lsblk lists them)",
        {}};
  }
  return read_disk_facts("/", path, status.st_rdev);
}

Result<void> check_disk(const DiskFacts& disk, std::uint64_t image_bytes, bool force) {
  const auto refuse = [](const std::string& why) {
    return Error{ErrorCode::InvalidArgument, why, {}};
  };
  if (disk.bytes < image_bytes) {
    return refuse(fmt::format("{} holds {} MiB, the image has {} MiB", disk.path, disk.bytes >> 20,
                              (image_bytes + (1 << 20) - 1) >> 20));
  }
  if (force) return {};
  if (!disk.uses.empty()) {
    const std::string first =
        disk.mounted.empty() ? "" : fmt::format("; umount {} first", fmt::join(disk.mounted, " "));
    return refuse(fmt::format("{} is in use: {}{} (--force overwrites it all the same)", disk.path,
                              fmt::join(disk.uses, ", "), first));
  }
  if (disk.partition) {
    return refuse(disk.path +
                  " is a partition, the image is of a whole disk (--force writes it "
                  "there all the same)");
  }
  if (!disk.removable) {
    return refuse(disk.path +
                  " is a fixed disk, not a card or stick (--force overwrites it all "
                  "the same)");
  }
  return {};
}

}  // namespace fettle::flash
