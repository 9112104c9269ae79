// Programs for people (explain.h).
#include "host/backend/vta/explain.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "fpga/isa/disassemble.h"
#include "fpga/sim/simulator.h"
#include "host/backend/vta/stream.h"

namespace fettle::vta::host {
namespace {

std::string listing(std::span<const Instruction> instructions) {
  std::string text;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    text += fmt::format("{:5} {}\n", i, disassemble(instructions[i]));
  }
  return text;
}

// DRAM that holds nothing: for a stream's time, which does not depend on data.
class Nowhere : public Dram {
 public:
  explicit Nowhere(std::span<const Region> regions, ByteView words)
      : regions_(regions), words_(words) {}
  static constexpr std::uint64_t kStream = std::uint64_t{3} << 30;

  bool read(std::uint64_t address, std::span<std::uint8_t> to) override {
    std::fill(to.begin(), to.end(), std::uint8_t{0});
    copy(kStream, words_, address, to);
    for (const Region& region : regions_) copy(region.address, region.contents, address, to);
    return true;
  }
  bool write(std::uint64_t, std::span<const std::uint8_t>) override { return true; }

 private:
  static void copy(std::uint64_t base, ByteView from, std::uint64_t address,
                   std::span<std::uint8_t> to) {
    if (address < base || address + to.size() > base + from.size()) return;
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(address - base), to.size(), to.begin());
  }

  std::span<const Region> regions_;
  ByteView words_;
};

// How busy each unit is, by the simulator's estimate.
Result<std::string> occupancy(const Design& design, const Stream& stream, const Bound& bound) {
  auto simulator = Simulator::create(design);
  if (!simulator) return std::move(simulator).error();
  const Bytes words = bytes_of(stream.words);
  Nowhere dram(stream.data.regions, words);
  std::vector<Span> spans;
  const auto run =
      simulator->run(dram, Nowhere::kStream, static_cast<std::uint32_t>(stream.words.size()),
                     ~std::uint64_t{0}, &spans);
  if (!run) return run.error();
  std::array<std::uint64_t, kUnits> busy = {}, until = {}, count = {};
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.from < b.from; });
  for (const Span& span : spans) {
    const std::size_t unit = static_cast<std::size_t>(span.unit);
    ++count[unit];
    const std::uint64_t from = std::max(span.from, until[unit]);
    if (span.to > from) busy[unit] += span.to - from;
    until[unit] = std::max(until[unit], span.to);
  }
  const double cycles = static_cast<double>(run->cycles);
  std::string text = fmt::format("{} cycles: the bound is {:.1f} % of them\n", run->cycles,
                                 100 * bound.cycles() / cycles);
  for (const Unit unit : {Unit::Load, Unit::Compute, Unit::Store}) {
    const std::size_t i = static_cast<std::size_t>(unit);
    text += fmt::format("{:8} {:6} instructions, at work {:5.1f} % of the time\n", name_of(unit),
                        count[i], 100 * static_cast<double>(busy[i]) / cycles);
  }
  return text +
         fmt::format("steps of GEMM and ALU {:.1f} %, port {:.1f} % of the time\n",
                     100 * static_cast<double>(run->step_cycles) / cycles,
                     100 * static_cast<double>(run->read_beats + run->written_beats) / cycles);
}

std::string memories(const Product& product, const Design& design, const Tiling& tiling,
                     const Generated& program) {
  std::string text;
  const std::pair<Memory, std::size_t> used[] = {{Memory::Input, program.input_slots},
                                                 {Memory::Weight, program.weight_slots},
                                                 {Memory::Accumulator, program.sum_slots}};
  for (const auto& [memory, slots] : used) {
    text += fmt::format("{}: {} tiles of {} of {} entries\n", name_of(memory), slots,
                        tile_entries(product, tiling, memory), design.depth(memory));
  }
  return text + fmt::format("UOP: {} micro-ops loaded, room for {}\n",
                            program.code.constants.back().bytes.size() / 4,
                            design.depth(Memory::Uop));
}

}  // namespace

Result<std::string> explained(const Product& product, const Design& design, const Tiling& tiling,
                              const Bound& bound, Generated program,
                              const std::string& dump_after) {
  if (dump_after == "generate") return listing(program.code.instructions);
  if (!dump_after.empty() && dump_after != "tokens") {
    return Error{ErrorCode::InvalidArgument,
                 "no pass \"" + dump_after + "\"; there are: generate, tokens"};
  }
  const std::string on_chip = memories(product, design, tiling, program);
  auto stream = finish_stream(design, std::move(program.code));
  if (!stream) return std::move(stream).error();
  if (dump_after == "tokens") return listing(stream->instructions);
  auto units = occupancy(design, *stream, bound);
  if (!units) return std::move(units).error();
  return "--- instructions\n" + listing(stream->instructions) + "--- on the chip\n" + on_chip +
         "--- bound\n" + bound.text(product) + "--- units, by the simulator's estimate\n" + *units;
}

}  // namespace fettle::vta::host
