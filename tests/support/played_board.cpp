// Files and registers of a played board (played_board.h).
#include "tests/support/played_board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cassert>
#include <filesystem>
#include <fstream>

#include "fpga/isa/encoding.h"
#include "fpga/qemu/emulated_bitstream.h"

namespace fettle::test {
namespace {

class PlayedRegisters final : public agent::Registers {
 public:
  explicit PlayedRegisters(vta::EmulatedPl& pl) : pl_(pl) {}
  std::uint32_t read(std::uint32_t offset) override { return pl_.read(offset); }
  void write(std::uint32_t offset, std::uint32_t value) override { pl_.write(offset, value); }

 private:
  vta::EmulatedPl& pl_;
};

std::span<std::uint8_t> map_new_file(const std::string& path, std::uint64_t bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  const agent::OwnedFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  [[maybe_unused]] const int sized = ::ftruncate(fd.get(), static_cast<off_t>(bytes));
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  assert(sized == 0 && at != MAP_FAILED);
  return {static_cast<std::uint8_t*>(at), static_cast<std::size_t>(bytes)};
}

}  // namespace

PlayedBoard::PlayedBoard()
    : memory_(map_new_file(folder_.file("dev/udmabuf0"), kBytes)),
      dram_(kAddress, memory_),
      pl_(dram_),
      working_([this] { pl_.work(); }) {
  put(std::string(kManager) + "/state", "operating");
  put(std::string(kManager) + "/flags", "");
  put(std::string(kManager) + "/firmware", "");
  put("/proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n");
  put("/sys/class/u-dma-buf/udmabuf0/phys_addr", "0x10000000\n");
  put("/sys/class/u-dma-buf/udmabuf0/size", std::to_string(kBytes) + "\n");
}

PlayedBoard::~PlayedBoard() {
  pl_.end();
  working_.join();
  munmap(memory_.data(), memory_.size());
}

agent::MapRegisters PlayedBoard::map_registers() {
  return [this](const agent::SystemRoot&, std::uint64_t,
                std::uint32_t) -> Result<std::unique_ptr<agent::Registers>> {
    take_firmware();
    return std::unique_ptr<agent::Registers>(new PlayedRegisters(pl_));
  };
}

void PlayedBoard::take_firmware() {
  const std::string firmware = std::string(kManager) + "/firmware";
  const std::string name = root().text(firmware).value_or("");
  if (name.empty()) return;
  put(firmware, "");
  std::ifstream file(folder_.path() + "/lib/firmware/" + name, std::ios::binary);
  const Bytes bin(std::istreambuf_iterator<char>(file), {});
  pl_.erase();
  pl_.configure(bin);
  ++programmings_;
}

void PlayedBoard::put(const std::string& path, const std::string& text) const {
  put(path, ByteView(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

void PlayedBoard::put(const std::string& path, ByteView bytes) const {
  const std::filesystem::path at = folder_.path() + path;
  std::filesystem::create_directories(at.parent_path());
  std::ofstream(at, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

void PlayedBoard::remove(const std::string& path) const {
  std::filesystem::remove_all(folder_.path() + path);
}

std::string PlayedBoard::put_bitstream(const std::string& design) const {
  const std::string path = "/lib/firmware/fettle/" + design + ".bit";
  put(path, vta::make_emulated_bitstream(*vta::find_design(design)));
  return path;
}

agent::WantedLogic PlayedBoard::wanted(const std::string& design) const {
  return {*vta::find_design(design), put_bitstream(design)};
}

Result<agent::ProgrammedLogic> PlayedBoard::open(const agent::WantedLogic& wanted,
                                                 agent::MapRegisters registers) {
  const auto bitstream = agent::check_bitstream(root(), wanted);
  if (!bitstream) return bitstream.error();
  return agent::ProgrammedLogic::open(root(), wanted, *bitstream,
                                      registers ? std::move(registers) : map_registers());
}

std::uint32_t put_short_stream(std::span<std::uint8_t> memory, const vta::Design& design) {
  const vta::Encoding encoding(design);
  std::vector<vta::Word> words;
  for (const vta::Instruction& each :
       {vta::Instruction{{}, vta::Load{{vta::Memory::Uop}}}, vta::Instruction{{}, vta::Finish{}}}) {
    words.push_back(*encoding.encode(each));
  }
  const Bytes bytes = vta::bytes_of(words);
  std::copy(bytes.begin(), bytes.end(), memory.begin());
  return static_cast<std::uint32_t>(words.size());
}

}  // namespace fettle::test
