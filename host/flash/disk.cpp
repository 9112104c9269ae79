// Disks by sysfs, /proc/self/mountinfo and /proc/swaps (disk.h).
#include "host/flash/disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
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

// Where the running system would not notice. Anywhere else it may: the medium of a live system is
// mounted at one place with one distribution, at another with the next.
bool of_guests(const std::string& mount_point) {
  if (mount_point.starts_with("/media/root-r")) return false;  // the disk below an overlay
  for (const char* one : {"/media/", "/mnt/", "/run/media/", "/tmp/"}) {
    if (mount_point.starts_with(one)) return true;
  }
  return mount_point == "/mnt";
}

// What mounts and swap space call a block device, by its name in sysfs.
void add_sources(const fs::path& sysfs, std::set<std::string>& sources) {
  sources.insert("/dev/" + sysfs.filename().string());
  const std::string mapped = first_line(sysfs / "dm/name");
  if (!mapped.empty()) sources.insert("/dev/mapper/" + mapped);
}

// Those of the part; where it belongs to a btrfs of several devices, of any of them.
std::set<std::string> sources_of(const fs::path& root, const Part& part) {
  std::set<std::string> sources;
  add_sources(part.sysfs, sources);
  for (const fs::path& one : entries(root / "sys/fs/btrfs")) {
    std::error_code none;
    if (!fs::exists(one / "devices" / part.name, none)) continue;
    for (const fs::path& device : entries(one / "devices")) {
      add_sources(root / "sys/class/block" / device.filename(), sources);
    }
  }
  return sources;
}

// Whether the file of that name is the block device of those numbers.
bool leads_to(const fs::path& root, const std::string& source, const std::string& number) {
  struct stat status{};
  return source.starts_with("/") && ::stat((root / source.substr(1)).c_str(), &status) == 0 &&
         S_ISBLK(status.st_mode) &&
         number == fmt::format("{}:{}", major(status.st_rdev), minor(status.st_rdev));
}

void add_mounts(const fs::path& root, const Part& part, const std::set<std::string>& sources,
                DiskFacts& disk) {
  std::ifstream mounts(root / "proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string id, parent, number, inside, where, word, type, source;
    words >> id >> parent >> number >> inside >> where;
    while (words >> word && word != "-") {
    }
    words >> type >> source;
    // btrfs has numbers of its own: then the source tells.
    if (number != part.number && !sources.contains(source) &&
        !leads_to(root, source, part.number)) {
      continue;
    }
    disk.uses.push_back(part.name + " is mounted on " + where);
    disk.mounted.push_back("/dev/" + part.name);
    if (!of_guests(where)) disk.system = true;
  }
}

// `depth`: how many devices may still be stacked on this one.
void add_uses(const fs::path& root, const Part& part, int depth, DiskFacts& disk) {
  const std::set<std::string> sources = sources_of(root, part);
  add_mounts(root, part, sources, disk);
  std::ifstream swaps(root / "proc/swaps");
  for (std::string line; std::getline(swaps, line);) {
    if (!sources.contains(line.substr(0, line.find_first_of(" \t")))) continue;
    disk.uses.push_back(part.name + " is swap space");
    disk.system = true;
  }
  for (const fs::path& holder : entries(part.sysfs / "holders")) {
    const std::string name = holder.filename().string();
    disk.uses.push_back(part.name + " is a part of " + name);
    if (depth > 0) add_uses(root, {first_line(holder / "dev"), name, holder}, depth - 1, disk);
  }
}

// A SCSI disk has vendor and model, an MMC card a name, a loop device its file.
std::string model_of(const fs::path& whole) {
  std::string text;
  for (const char* file : {"device/vendor", "device/model", "device/name", "loop/backing_file"}) {
    std::string word = first_line(whole / file);
    word.erase(word.find_last_not_of(" \t") + 1);
    if (!word.empty()) text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

Error in_use(const DiskFacts& disk) {
  const std::string first =
      disk.mounted.empty() ? "" : fmt::format("; umount {} first", fmt::join(disk.mounted, " "));
  const std::string by = disk.uses.empty() ? "another program has it for itself"
                                           : fmt::format("{}", fmt::join(disk.uses, ", "));
  return {ErrorCode::InvalidArgument,
          fmt::format("{} is in use: {}{} (--force=in-use overwrites it all the same)", disk.path,
                      by, first),
          {}};
}

Error no_disk(const std::string& path) {
  return {ErrorCode::InvalidArgument,
          path + " is no disk: --to takes a block device such as /dev/sdb (lsblk lists them)",
          {}};
}

constexpr int kStackedDevices = 8;

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
  disk.model = model_of(whole);
  // Card readers that are not on USB call their SD card fixed.
  disk.removable = first_line(whole / "removable") == "1" ||
                   whole.string().find("/usb") != std::string::npos ||
                   first_line(whole / "device/type") == "SD";
  for (const Part& part : parts_of(sysfs, number)) add_uses(root, part, kStackedDevices, disk);
  return disk;
}

Result<OpenFile> open_disk(const std::string& path, const DroppedChecks& dropped) {
  // Without O_CREAT, O_EXCL on a block device means: not while it is in use.
  auto disk = OpenFile::open(path, O_RDWR | (dropped.contains(Check::InUse) ? 0 : O_EXCL));
  struct stat status{};
  if (!disk) {
    // Only for the message: nothing is written by that name.
    if (errno == EBUSY && ::stat(path.c_str(), &status) == 0 && S_ISBLK(status.st_mode)) {
      return in_use(read_disk_facts("/", path, status.st_rdev));
    }
    if (errno == EISDIR) return no_disk(path);
    return disk;
  }
  if (::fstat(disk->fd(), &status) != 0 || !S_ISBLK(status.st_mode)) return no_disk(path);
  return disk;
}

Result<DiskFacts> read_disk(const OpenFile& disk, const DroppedChecks& dropped) {
  struct stat status{};
  if (::fstat(disk.fd(), &status) != 0) {
    return Error{ErrorCode::Io, "looking at " + disk.path() + ": " + std::strerror(errno), {}};
  }
  DiskFacts facts = read_disk_facts("/", disk.path(), status.st_rdev);
  if (!dropped.contains(Check::InUse) || !facts.uses.empty()) return facts;  // opened with O_EXCL
  const auto alone =
      OpenFile::open("/proc/self/fd/" + std::to_string(disk.fd()), O_RDONLY | O_EXCL);
  if (alone || errno != EBUSY) return facts;
  // Such as ZFS, whose devices nothing here names.
  facts.uses.push_back("something that is not known here has it for itself");
  facts.system = true;
  return facts;
}

Result<void> check_disk(const DiskFacts& disk, std::uint64_t image_bytes,
                        const DroppedChecks& dropped) {
  const auto refuse = [](const std::string& why) {
    return Error{ErrorCode::InvalidArgument, why, {}};
  };
  if (disk.bytes < image_bytes) {
    return refuse(fmt::format("{} holds {} MiB, the image has {} MiB", disk.path, disk.bytes >> 20,
                              (image_bytes + (1 << 20) - 1) >> 20));
  }
  if (!disk.uses.empty() && !dropped.contains(Check::InUse)) return in_use(disk);
  if (disk.system && !dropped.contains(Check::SystemDisk)) {
    return refuse(
        fmt::format("the running system uses {}: {} (--force=system-disk overwrites it "
                    "all the same)",
                    disk.path, fmt::join(disk.uses, ", ")));
  }
  if (disk.partition && !dropped.contains(Check::Partition)) {
    return refuse(disk.path +
                  " is a partition, the image is of a whole disk (--force=partition writes it "
                  "there all the same)");
  }
  if (!disk.removable && !dropped.contains(Check::FixedDisk)) {
    return refuse(disk.path +
                  " is a fixed disk, not a card or stick (--force=fixed-disk overwrites it all "
                  "the same)");
  }
  return {};
}

std::string describe(const DiskFacts& disk) {
  const double mib = static_cast<double>(disk.bytes) / (1 << 20);
  const std::string size =
      mib < 1024 ? fmt::format("{:.1f} MiB", mib) : fmt::format("{:.1f} GiB", mib / 1024);
  std::string text = fmt::format("{}: {}, {}, {}", disk.path,
                                 disk.model.empty() ? "a disk that tells no model" : disk.model,
                                 size, disk.removable ? "removable" : "fixed");
  if (disk.partition) text += ", a partition";
  if (disk.system) text += ", the running system's";
  if (!disk.uses.empty()) text += fmt::format("; {}", fmt::join(disk.uses, ", "));
  return text;
}

}  // namespace fettle::flash
