// By their names, as the kernel gives them (device_nodes.h).
#include "agent/sandbox/device_nodes.h"

#include <sys/stat.h>
#include <algorithm>
#include <iterator>

namespace fettle::agent {
namespace {

// Some have a number behind: sg0, nvme0, mtd0ro, i2c-1.
constexpr const char* kForNoDriver[] = {
    // disks, beside their block devices
    "sg", "bsg", "nvme", "ng", "mtd", "ubi", "ubi_ctrl", "raw", "mapper", "loop-control",
    // memory
    "mem", "kmem", "port", "nvram", "gpiomem",
    // other devices' registers, and what hangs on their buses
    "uio", "vfio", "i2c", "spidev", "gpiochip", "fpga", "xdevcfg",
    // what is typed
    "input", "hidraw",
    // the machine
    "cpu", "snapshot", "watchdog", "ipmi", "kmsg", "uinput", "uhid", "rtc", "tpm", "tpmrm", "mei"};

bool is_named(const std::string& name, const std::string& kind) {
  return name.compare(0, kind.size(), kind) == 0 &&
         (name.size() == kind.size() || name[kind.size()] == '-' ||
          (name[kind.size()] >= '0' && name[kind.size()] <= '9'));
}

}  // namespace

bool for_no_driver(const std::string& name, mode_t mode) {
  return S_ISBLK(mode) || std::any_of(std::begin(kForNoDriver), std::end(kForNoDriver),
                                      [&](const char* kind) { return is_named(name, kind); });
}

bool holds_files(const std::string& name) {
  return name == "shm" || name == "mqueue" || name == "hugepages" || name == "pts";
}

}  // namespace fettle::agent
