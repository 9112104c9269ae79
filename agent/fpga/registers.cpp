// Mapping registers (registers.h).
#include "agent/fpga/registers.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

namespace fettle::agent {
namespace {

class RegisterWindow final : public Registers {
 public:
  RegisterWindow(void* at, std::size_t bytes)
      : words_(static_cast<volatile std::uint32_t*>(at)), bytes_(bytes) {}
  ~RegisterWindow() override { munmap(const_cast<std::uint32_t*>(words_), bytes_); }
  std::uint32_t read(std::uint32_t offset) override { return words_[offset / 4]; }
  void write(std::uint32_t offset, std::uint32_t value) override { words_[offset / 4] = value; }

 private:
  volatile std::uint32_t* words_;
  std::size_t bytes_;
};

// Null, and in `why` the reason.
void* map_file(const std::string& path, std::uint64_t offset, std::size_t bytes, std::string& why) {
  const int fd = ::open(path.c_str(), O_RDWR | O_SYNC | O_CLOEXEC);
  void* at = fd < 0 ? MAP_FAILED
                    : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                           static_cast<off_t>(offset));
  if (at == MAP_FAILED) why += (why.empty() ? "" : "; ") + path + ": " + std::strerror(errno);
  if (fd >= 0) ::close(fd);
  return at == MAP_FAILED ? nullptr : at;
}

}  // namespace

std::vector<UioMap> uio_maps(const SystemRoot& root) {
  std::vector<UioMap> maps;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  for (const std::string& device : root.list("/sys/class/uio")) {
    for (std::uint64_t i = 0;; ++i) {
      const std::string map = "/sys/class/uio/" + device + "/maps/map" + std::to_string(i);
      const auto address = root.number(map + "/addr"), bytes = root.number(map + "/size");
      if (!address || !bytes) break;
      maps.push_back({device, static_cast<std::uint64_t>(*address),
                      static_cast<std::uint64_t>(*bytes), i * page});
    }
  }
  return maps;
}

Result<std::unique_ptr<Registers>> map_registers(const SystemRoot& root, std::uint64_t address,
                                                 std::uint32_t bytes) {
  std::string why;
  for (const UioMap& map : uio_maps(root)) {
    if (map.address != address || map.bytes < bytes) continue;
    if (void* at = map_file(root.path("/dev/" + map.device), map.offset, bytes, why)) {
      return std::unique_ptr<Registers>(new RegisterWindow(at, bytes));
    }
  }
  if (void* at = map_file(root.path("/dev/mem"), address, bytes, why)) {
    return std::unique_ptr<Registers>(new RegisterWindow(at, bytes));
  }
  return Error{ErrorCode::Io, "cannot map the accelerator's registers: " + why};
}

}  // namespace fettle::agent
