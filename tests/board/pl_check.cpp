// fettle-pl-check: on the emulated Pynq with a PL, before its agent: what Linux and the PL offer to
// one. Loads both designs' bitstreams by Linux's own driver, runs a stream on each through the
// registers, and holds memory to the simulator's. A line for each; exit status 1 when one is false.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "fpga/bitstream/bitstream.h"
#include "fpga/config/register_map.h"
#include "fpga/sim/simulator.h"
#include "tests/support/vta_stream.h"

namespace fettle::vta {
namespace {

namespace fs = std::filesystem;
using testing::VtaStream;

const fs::path kManager = "/sys/class/fpga_manager/fpga0";
constexpr std::uint32_t kCode = 0xc000;  // from the memory's beginning
constexpr std::size_t kUsed = 0x10000;

bool failed = false;

bool see(const std::string& what, bool is) {
  std::printf("   %s %s\n", is ? "yes:" : "NO: ", what.c_str());
  std::fflush(stdout);
  failed |= !is;
  return is;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

bool write_text(const fs::path& file, const std::string& text) {
  const int to = open(file.c_str(), O_WRONLY);
  const bool ok =
      to >= 0 && write(to, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (to >= 0) close(to);
  return ok;
}

// A map of the accelerator's UIO device.
std::span<volatile std::uint32_t> map_uio(const fs::path& device, int number) {
  const fs::path map = device / "maps" / ("map" + std::to_string(number));
  const std::size_t bytes = std::stoul(text_of(map / "size"), nullptr, 16);
  const int from = open(("/dev/" + device.filename().string()).c_str(), O_RDWR | O_SYNC);
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, from,
                  static_cast<off_t>(number * getpagesize()));
  if (from >= 0) close(from);
  if (at == MAP_FAILED) return {};
  return {static_cast<volatile std::uint32_t*>(at), bytes / 4};
}

fs::path find_uio() {
  std::error_code none;
  for (const auto& each : fs::directory_iterator("/sys/class/uio", none)) {
    if (text_of(each.path() / "name") == "fettle-vta") return each.path();
  }
  return {};
}

void copy_in(std::span<volatile std::uint32_t> to, const Bytes& from) {
  for (std::size_t i = 0; i < from.size() / 4; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, &from[4 * i], 4);
    to[i] = word;
  }
}

Bytes copy_out(std::span<volatile std::uint32_t> from, std::size_t bytes) {
  Bytes to(bytes);
  for (std::size_t i = 0; i < bytes / 4; ++i) {
    const std::uint32_t word = from[i];
    std::memcpy(&to[4 * i], &word, 4);
  }
  return to;
}

bool program(const std::string& design) {
  std::ifstream in("/lib/firmware/fettle/" + design + ".bit", std::ios::binary);
  const Bytes file{std::istreambuf_iterator<char>(in), {}};
  const auto bitstream = parse_bitstream(file);
  if (!bitstream) return see(bitstream.error().text(), false);
  const Bytes bin = *to_bin(*bitstream);
  std::ofstream("/lib/firmware/check.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(bin.data()), static_cast<std::streamsize>(bin.size()));
  return write_text(kManager / "flags", "0") && write_text(kManager / "firmware", "check.bin");
}

// A stream with its buffers behind `base`, as one image of memory.
Bytes image_of(const VtaStream& stream, std::uint64_t base) {
  Bytes image(kUsed);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::uint8_t>(i * 131 >> 3);
  std::copy(stream.uops.begin(), stream.uops.end(), image.begin() + VtaStream::kUops);
  std::vector<Word> words = stream.words();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto* load = std::get_if<Load>(&stream.instructions[i].body);
    const auto* store = std::get_if<Store>(&stream.instructions[i].body);
    const Transfer* moved = load ? static_cast<const Transfer*>(load) : store;
    if (!moved || moved->x_size == 0) continue;
    const std::uint64_t at =
        std::uint64_t{moved->dram_base} * stream.design.element_bytes(moved->memory);
    if (!set_dram_address(stream.design, words[i], base + at)) return {};
  }
  const Bytes code = bytes_of(words);
  std::copy(code.begin(), code.end(), image.begin() + kCode);
  return image;
}

void run_stream(const Design& design, std::span<volatile std::uint32_t> registers,
                std::span<volatile std::uint32_t> memory, std::uint64_t base) {
  const RegisterMap& map = register_map(design.core);
  const VtaStream stream(design);
  const auto count = static_cast<std::uint32_t>(stream.instructions.size());
  Bytes expected = image_of(stream, base);
  copy_in(memory, expected);
  DramImage reference(base, expected);
  const auto simulated = Simulator::create(design)->run(reference, base + kCode, count);
  if (!see("a stream for " + design.name, simulated.ok())) return;
  for (const RegisterWrite& each : map.launch) {
    registers[each.offset / 4] =
        register_value(each.value, count, static_cast<std::uint32_t>(base) + kCode);
  }
  bool done = false;
  for (int i = 0; i < 5000 && !done; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    done = (registers[map.done.offset / 4] & map.done.mask) == map.done.value;
  }
  see(design.name + ": says that it is done", done);
  see(design.name + ": memory is as the simulator leaves it", copy_out(memory, kUsed) == expected);
  if (map.cycles_low) {
    const std::uint64_t low = registers[*map.cycles_low / 4];
    const std::uint64_t cycles = low | std::uint64_t{registers[*map.cycles_high / 4]} << 32;
    see(design.name + ": " + std::to_string(cycles) + " cycles, the simulator's estimate",
        cycles == simulated->cycles);
  }
}

bool check() {
  see("an FPGA manager: " + text_of(kManager / "name"),
      text_of(kManager / "name") == "Xilinx Zynq FPGA Manager");
  see("nothing is loaded: " + text_of(kManager / "state"),
      text_of(kManager / "state") != "operating");
  const fs::path uio = find_uio();
  if (!see("a UIO device", !uio.empty())) return false;
  const auto registers = map_uio(uio, 0), memory = map_uio(uio, 1);
  const std::uint64_t base = std::stoull(text_of(uio / "maps/map1/addr"), nullptr, 16);
  if (!see("64 MiB of memory", memory.size() * 4 == std::size_t{64} << 20)) return false;
  see("registers do not answer before", registers[0x3c / 4] == 0 && registers[0] == 0);
  for (const char* name : {"pynq", "vta-stock"}) {
    see(std::string(name) + ": Linux loads its bitstream", program(name));
    see("the state is " + text_of(kManager / "state"), text_of(kManager / "state") == "operating");
    const bool ours = registers[0x3c / 4] == 0x46544c31;
    see("the core is " + std::string(ours ? "ours" : "another"), ours == (name[0] == 'p'));
    run_stream(*find_design(name), registers, memory, base);
  }
  return !failed;
}

}  // namespace
}  // namespace fettle::vta

int main() { return fettle::vta::check() ? 0 : 1; }
