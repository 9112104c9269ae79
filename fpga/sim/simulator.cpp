// Runs of streams (simulator.h).
#include "fpga/sim/simulator.h"

#include "fpga/isa/disassemble.h"

namespace fettle::vta {

Timing timing_of(const Design& design) {
  Timing timing;
  if (design.core == Core::VtaHls) {
    timing.overlap = false;
    timing.alu_imm_cycles = 2;
    timing.step_latency = 20;
  }
  return timing;
}

Result<Simulator> Simulator::create(const Design& design) {
  return create(design, timing_of(design));
}

Result<Simulator> Simulator::create(const Design& design, const Timing& timing) {
  Result<Chip> chip = Chip::create(design);
  if (!chip) return std::move(chip).error();
  return Simulator(design, timing, std::move(*chip));
}

Simulator::Simulator(const Design& design, const Timing& timing, Chip chip)
    : design_(design), timing_(timing), encoding_(design), chip_(std::move(chip)) {}

Result<SimulatedRun> Simulator::run(Dram& dram, std::uint64_t address, std::uint32_t count,
                                    std::uint64_t limit, std::vector<Span>* spans) {
  if (address % kWordBytes != 0) {
    return Error{ErrorCode::InvalidArgument,
                 "a stream at " + std::to_string(address) + ", which is no multiple of 16"};
  }
  if (count > kMaxInstructions) {
    return Error{ErrorCode::TooLarge, "a stream of " + std::to_string(count) +
                                          " instructions, more than " +
                                          std::to_string(kMaxInstructions)};
  }
  Bytes bytes(std::size_t{count} * kWordBytes);
  if (!dram.read(address, bytes)) {
    return Error{ErrorCode::Malformed, "no memory where the instructions are to be"};
  }
  std::vector<Instruction> instructions;
  std::vector<Command> commands;
  instructions.reserve(count);
  commands.reserve(count);
  const auto malformed = [&](std::size_t i, const std::string& what) {
    return Error{ErrorCode::Malformed, "instruction " + std::to_string(i) + what};
  };
  const Result<std::vector<Word>> words = words_of(bytes);
  for (const Word& word : words.value()) {
    Result<Instruction> instruction = encoding_.decode(word);
    if (!instruction) {
      return malformed(instructions.size(), ": " + instruction.error().message);
    }
    commands.push_back(command_of(*instruction));
    instructions.push_back(std::move(*instruction));
  }

  Timeline timeline(design_, timing_, instructions, commands, address);
  SimulatedRun run;
  bool finished = false;
  while (const std::optional<Span> span = timeline.next()) {
    if (span->to > limit) {
      return Error{ErrorCode::RunTimeout, "still at instruction " +
                                              std::to_string(span->instruction) + " after " +
                                              std::to_string(limit) + " cycles"};
    }
    const Instruction& instruction = instructions[span->instruction];
    const std::string wrong = chip_.execute(instruction, dram);
    if (!wrong.empty()) {
      return malformed(span->instruction, " (" + disassemble(instruction) + "): " + wrong);
    }
    if (std::holds_alternative<Finish>(instruction.body)) {
      finished = true;
      run.cycles = span->to;
    }
    if (spans) spans->push_back(*span);
  }
  if (!timeline.queues().done()) {
    return Error{ErrorCode::RunTimeout,
                 "the units wait for each other forever: " + timeline.queues().explain_deadlock()};
  }
  if (!finished) {
    return Error{ErrorCode::RunTimeout, "the stream has no FINISH: it never says that it is done"};
  }
  run.step_cycles = timeline.step_cycles();
  run.read_beats = timeline.port().read_beats();
  run.written_beats = timeline.port().written_beats();
  return run;
}

}  // namespace fettle::vta
