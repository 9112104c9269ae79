// Programming through fpga_manager's files (fpga_manager.h).
#include "agent/fpga/fpga_manager.h"

#include <unistd.h>
#include <cerrno>
#include <cstring>

#include "agent/fpga/file_write.h"

namespace fettle::agent {
namespace {

constexpr const char* kClass = "/sys/class/fpga_manager";
constexpr const char* kFirmwareFolder = "/lib/firmware";
constexpr const char* kFirmware = "fettle-fpga.bin";  // there, while and after it is loaded
constexpr const char* kOverlays = "/sys/kernel/config/device-tree/overlays";
constexpr const char* kRegion = "/fpga-full";  // in the device trees of Zynq-7000

}  // namespace

Result<FpgaManager> FpgaManager::find(const SystemRoot& root) {
  const auto names = root.list(kClass);
  if (names.empty()) {
    return Error{ErrorCode::NotFound,
                 root.path(kClass) + " has no manager: no programmable logic here"};
  }
  return FpgaManager(root, std::string(kClass) + "/" + names.front());
}

std::string FpgaManager::state() const {
  return root_.text(folder_ + "/state").value_or("unknown");
}

Result<void> FpgaManager::program(ByteView bin) const {
  const std::string firmware = std::string(kFirmwareFolder) + "/" + kFirmware;
  if (auto made = make_folder(root_.path(kFirmwareFolder)); !made) return made;
  if (auto written = write_file(root_.path(firmware), bin); !written) return written;
  Result<void> loaded;
  if (::access(root_.path(folder_ + "/firmware").c_str(), F_OK) == 0) {
    loaded = write_file(root_.path(folder_ + "/flags"), "0");  // the whole PL
    if (loaded) loaded = write_file(root_.path(folder_ + "/firmware"), kFirmware);
  } else {
    loaded = apply_overlay();
  }
  if (!loaded) {
    return std::move(loaded).error().in("programming the PL, whose state is '" + state() + "'");
  }
  if (operating()) return {};
  return Error{ErrorCode::Io,
               "the PL was programmed, but its state is '" + state() + "', not 'operating'"};
}

Result<void> FpgaManager::apply_overlay() const {
  if (::access(root_.path(kOverlays).c_str(), F_OK) != 0) {
    return Error{ErrorCode::Unsupported, folder_ + " has no file 'firmware', and there is no " +
                                             kOverlays + " either: this kernel programs nothing"};
  }
  const std::string overlay = root_.path(std::string(kOverlays) + "/fettle-fpga");
  // One that is applied already does not program again.
  if (::rmdir(overlay.c_str()) != 0 && errno != ENOENT) {
    return Error{ErrorCode::Io, "removing the overlay " + overlay + ": " + std::strerror(errno)};
  }
  if (auto made = make_folder(overlay); !made) return made;
  return write_file(overlay + "/dtbo", firmware_overlay(kRegion, kFirmware));
}

}  // namespace fettle::agent
