// The Verilated core as a device (rtl_core.h).
#include "fpga/rtl/device/rtl_core.h"

#include <verilated.h>

#include <cstring>
#include <string>

#include "VerilatedCore.h"
#include "fpga/config/register_map.h"

namespace {
// The assertion that failed last; the model is single-threaded.
thread_local std::string broken_rule;
}  // namespace

// Verilator calls this where an assertion fails (VL_USER_STOP).
void vl_stop(const char* file, int line, const char*) {
  if (broken_rule.empty()) broken_rule = std::string(file) + ":" + std::to_string(line);
}

namespace fettle::vta {
namespace {

constexpr std::uint32_t kInterruptEnable = 0x2c;

// fettle_vta.sv's parameters, which the model was built with.
Result<void> check_built_for(const Design& design) {
  const auto is = [](std::uint32_t value, std::uint32_t built, const char* what) -> Result<void> {
    if (value == built) return {};
    return Error{ErrorCode::InvalidArgument, "the Verilated core is built for " +
                                                 std::string(what) + " " + std::to_string(built) +
                                                 ", the design has " + std::to_string(value)};
  };
  const std::pair<std::uint32_t, std::pair<std::uint32_t, const char*>> fields[] = {
      {design.batch, {1, "batch"}},
      {design.block_in, {16, "block_in"}},
      {design.block_out, {16, "block_out"}},
      {design.input_bits, {8, "input_bits"}},
      {design.weight_bits, {8, "weight_bits"}},
      {design.accumulator_bits, {32, "accumulator_bits"}},
      {design.output_bits, {8, "output_bits"}},
      {design.index_bits(Memory::Uop), {13, "index bits of UOP"}},
      {design.index_bits(Memory::Input), {11, "index bits of INP"}},
      {design.index_bits(Memory::Weight), {10, "index bits of WGT"}},
      {design.index_bits(Memory::Accumulator), {11, "index bits of ACC"}},
      {design.index_bits(Memory::Output), {11, "index bits of OUT"}},
      {design.command_queue_depth, {512, "command_queue_depth"}},
      {design.token_queue_depth, {1024, "token_queue_depth"}},
  };
  for (const auto& [value, built] : fields) {
    if (Result<void> same = is(value, built.first, built.second); !same) return same;
  }
  return {};
}

}  // namespace

struct RtlCore::State {
  // Without threads of Verilator's own: the model has no work for them, and a sandbox may forbid
  // what a thread does while it starts.
  struct Context : VerilatedContext {
    Context() { threads(1); }
  };
  Context context;
  VerilatedCore core{&context};
};

RtlCore::RtlCore(std::unique_ptr<State> state) : state_(std::move(state)) {}
RtlCore::RtlCore(RtlCore&&) noexcept = default;
RtlCore& RtlCore::operator=(RtlCore&&) noexcept = default;
RtlCore::~RtlCore() = default;

Result<RtlCore> RtlCore::create(const Design& design) {
  if (Result<void> built = check_built_for(design); !built) return std::move(built).error();
  RtlCore made(std::make_unique<State>());
  VerilatedCore& core = made.state_->core;
  const wire::Hash identity = design.identity();
  std::memcpy(&core.configuration_hash, &identity, 32);
  core.resetn = 0;
  for (int i = 0; i < 4; ++i) made.cycle(nullptr);
  core.resetn = 1;
  made.cycle(nullptr);
  return made;
}

void RtlCore::cycle(MemoryPort* memory) {
  VerilatedCore& core = state_->core;
  const MemoryPort::ToCore in = memory ? memory->inputs() : MemoryPort::ToCore{};
  core.m_axi_arready = in.arready;
  core.m_axi_rvalid = in.rvalid;
  core.m_axi_rid = in.rid;
  core.m_axi_rdata = in.rdata;
  core.m_axi_rresp = in.rresp;
  core.m_axi_rlast = in.rlast;
  core.m_axi_awready = in.awready;
  core.m_axi_wready = in.wready;
  core.m_axi_bvalid = in.bvalid;
  core.m_axi_bresp = in.bresp;
  core.clk = 0;
  core.eval();
  if (memory) {
    MemoryPort::FromCore out;
    out.arvalid = core.m_axi_arvalid;
    out.araddr = core.m_axi_araddr;
    out.arid = core.m_axi_arid;
    out.arlen = core.m_axi_arlen;
    out.rready = core.m_axi_rready;
    out.awvalid = core.m_axi_awvalid;
    out.awaddr = core.m_axi_awaddr;
    out.awlen = core.m_axi_awlen;
    out.wvalid = core.m_axi_wvalid;
    out.wdata = core.m_axi_wdata;
    out.wlast = core.m_axi_wlast;
    out.bready = core.m_axi_bready;
    memory->clock(out);
  }
  core.clk = 1;
  core.eval();
}

// Registers are accessed while the port stands still: nothing passes it without a memory.
void RtlCore::write(std::uint32_t offset, std::uint32_t value) {
  VerilatedCore& core = state_->core;
  core.s_axi_awaddr = static_cast<std::uint16_t>(offset);
  core.s_axi_wdata = value;
  core.s_axi_wstrb = 0xf;
  core.s_axi_awvalid = core.s_axi_wvalid = core.s_axi_bready = 1;
  cycle(nullptr);
  core.s_axi_awvalid = core.s_axi_wvalid = 0;
  cycle(nullptr);
}

std::uint32_t RtlCore::read(std::uint32_t offset) {
  VerilatedCore& core = state_->core;
  core.s_axi_araddr = static_cast<std::uint16_t>(offset);
  core.s_axi_arvalid = core.s_axi_rready = 1;
  cycle(nullptr);
  core.s_axi_arvalid = 0;
  const std::uint32_t value = core.s_axi_rdata;
  cycle(nullptr);
  return value;
}

Result<RtlRun> RtlCore::run(std::span<std::byte> dram, std::uint64_t base, std::uint64_t address,
                            std::uint32_t instructions, const Timing& timing, std::uint64_t limit,
                            std::uint32_t disorder) {
  MemoryPort memory(timing, dram, base, disorder);
  const RegisterMap& map = register_map(Core::Fettle);
  broken_rule.clear();
  write(kInterruptEnable, 1);
  for (const RegisterWrite& each : map.launch) {
    write(each.offset,
          register_value(each.value, instructions, static_cast<std::uint32_t>(address)));
  }
  const auto holds = [&](const RegisterTest& test) {
    return (read(test.offset) & test.mask) == test.value;
  };
  // The interrupt says so without a register's access in between, for which the port stands still.
  std::uint64_t cycles = 0;
  while (!state_->core.irq && cycles < limit && broken_rule.empty() &&
         memory.wrong_access().empty()) {
    cycle(&memory);
    ++cycles;
  }
  const bool done = holds(map.done);
  if (!done) {
    write(map.stop->first, map.stop->second);
    for (int i = 0; !holds(*map.stopped) && i < 10000; ++i) cycle(&memory);
  }
  if (!broken_rule.empty()) {
    return Error{ErrorCode::Internal, "the core or the memory broke a bus rule: " + broken_rule};
  }
  if (!memory.wrong_access().empty()) {
    return Error{ErrorCode::StrayWrite,
                 "the core went beside its memory: " + memory.wrong_access()};
  }
  if (!done) {
    return Error{ErrorCode::RunTimeout,
                 "the core was not done after " + std::to_string(limit) + " cycles"};
  }
  if (!holds(*map.healthy)) {
    return Error{ErrorCode::Internal,
                 "the core says errors " + std::to_string(read(map.healthy->offset))};
  }
  RtlRun out;
  out.cycles = read(*map.cycles_low);
  out.cycles |= std::uint64_t{read(*map.cycles_high)} << 32;
  out.read_beats = memory.read_beats();
  out.written_beats = memory.written_beats();
  return out;
}

}  // namespace fettle::vta
