// Programs for people (explain.h).
#include "host/backend/vta/explain.h"

#include <array>

#include <fmt/format.h>

#include "fpga/isa/disassemble.h"
#include "host/backend/vta/stream_time.h"

namespace fettle::vta::host {
namespace {

std::string listing(std::span<const Instruction> instructions) {
  std::string text;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    text += fmt::format("{:5} {}\n", i, disassemble(instructions[i]));
  }
  return text;
}

// How busy each unit is, by the simulator's estimate.
Result<std::string> occupancy(const Design& design, const Stream& stream, const Bound& bound) {
  const auto time = time_of(design, stream);
  if (!time) return time.error();
  std::array<std::uint64_t, kUnits> count = {};
  for (const Span& span : time->spans) ++count[static_cast<std::size_t>(span.unit)];
  const SimulatedRun& run = time->run;
  const double cycles = static_cast<double>(run.cycles);
  std::string text = fmt::format("{} cycles: the bound is {:.1f} % of them\n", run.cycles,
                                 100 * bound.cycles() / cycles);
  for (const Unit unit : {Unit::Load, Unit::Compute, Unit::Store}) {
    text += fmt::format("{:8} {:6} instructions, at work {:5.1f} % of the time\n", name_of(unit),
                        count[static_cast<std::size_t>(unit)],
                        100 * static_cast<double>(time->busy_cycles(unit)) / cycles);
  }
  return text + fmt::format("steps of GEMM and ALU {:.1f} %, port {:.1f} % of the time\n",
                            100 * static_cast<double>(run.step_cycles) / cycles,
                            100 * static_cast<double>(run.read_beats + run.written_beats) / cycles);
}

std::string memories(const Computation& computation, const space::SearchSpace& space,
                     const space::Configuration& configuration, const Design& design,
                     const Generated& program) {
  std::string text;
  const std::pair<Memory, std::size_t> used[] = {{Memory::Input, program.input_slots},
                                                 {Memory::Weight, program.weight_slots},
                                                 {Memory::Accumulator, program.sum_slots}};
  for (const auto& [memory, slots] : used) {
    text +=
        fmt::format("{}: {} tiles of {} of {} entries\n", name_of(memory), slots,
                    computation.tile_entries(space, configuration, memory), design.depth(memory));
  }
  return text + fmt::format("UOP: {} micro-ops loaded, room for {}\n",
                            program.code.constants.back().bytes.size() / 4,
                            design.depth(Memory::Uop));
}

}  // namespace

Result<std::string> explained(const Computation& computation, const space::SearchSpace& space,
                              const space::Configuration& configuration, const Design& design,
                              Generated program, const std::string& dump_after) {
  if (dump_after == "generate") return listing(program.code.instructions);
  if (!dump_after.empty() && dump_after != "tokens") {
    return Error{ErrorCode::InvalidArgument,
                 "no pass \"" + dump_after + "\"; there are: generate, tokens"};
  }
  const std::string on_chip = memories(computation, space, configuration, design, program);
  auto stream = finish_stream(design, std::move(program.code));
  if (!stream) return std::move(stream).error();
  if (dump_after == "tokens") return listing(stream->instructions);
  auto units = occupancy(design, *stream, computation.bound());
  if (!units) return std::move(units).error();
  return "--- instructions\n" + listing(stream->instructions) + "--- on the chip\n" + on_chip +
         "--- bound\n" + computation.bound_text() + "--- units, by the simulator's estimate\n" +
         *units;
}

}  // namespace fettle::vta::host
