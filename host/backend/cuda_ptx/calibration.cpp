// Ceilings of a CUDA device, as IR through the same code generator that candidates take.
#include "host/backend/cuda_ptx/calibration.h"

#include <algorithm>

#include "host/backend/cuda_ptx/program.h"
#include "host/ir/module.h"

namespace fettle::backend::cuda_ptx {
namespace {

using ir::Expr;
using ir::Stmt;

constexpr std::int64_t kThreads = 256;            // of a block
constexpr std::int64_t kBlocksPerUnit = 8;        // 2048 threads: all that a unit holds
constexpr std::int64_t kChains = 8;               // of each thread, independent
constexpr std::int64_t kFmaRounds = 2048;         // some 100 µs
constexpr std::int64_t kLanes = 4;                // floats that a thread reads at once
constexpr std::int64_t kMemoryBytes = 512 << 20;  // read: far more than a last cache
constexpr std::int64_t kPieces = 16;              // reads of a thread

ir::Buffer make_buffer(const char* name, std::int64_t elements,
                       ir::Scope scope = ir::Scope::Global) {
  auto buffer = std::make_shared<ir::BufferDecl>();
  buffer->name = name;
  buffer->type = ir::kFloat32;
  buffer->shape = {elements};
  buffer->scope = scope;
  return buffer;
}

// A kernel over blocks x threads, with both variables.
struct Grid {
  ir::Var block = ir::make_var("block"), thread = ir::make_var("thread");
  std::int64_t blocks = 1, threads = 1;

  Expr place() const { return ir::var_ref(block) * ir::int_imm(threads) + ir::var_ref(thread); }
  ir::Function function(const char* name, Stmt body) const {
    const auto bound = [](const ir::Var& var, std::int64_t extent, Stmt inner,
                          ir::ThreadAxis axis) {
      return ir::make_for(var, ir::int_imm(0), ir::int_imm(extent), ir::ForKind::Bound,
                          std::move(inner), axis);
    };
    ir::Function function;
    function.name = name;
    function.parallel = ir::make_var("task");
    function.body =
        bound(block, blocks, bound(thread, threads, std::move(body), ir::ThreadAxis::ThreadX),
              ir::ThreadAxis::BlockX);
    return function;
  }
};

Stmt serial(const ir::Var& var, std::int64_t extent, Stmt body) {
  return ir::make_for(var, ir::int_imm(0), ir::int_imm(extent), ir::ForKind::Serial,
                      std::move(body));
}

Result<CalibrationProgram> finish(CalibrationProgram made, const ir::Module& module,
                                  const space::GpuTarget& target) {
  Result<wire::ProgramT> program = make_program(module, target);
  if (!program) {
    return std::move(program).error().in("building the calibration program \"" + made.name + "\"");
  }
  made.program = std::move(*program);
  return made;
}

std::int64_t threads_of(const space::GpuTarget& target) {
  return std::min<std::int64_t>(kThreads, target.threads_per_block);
}

// Chains of sum = sum * x + y in registers, on all compute units.
Result<CalibrationProgram> arithmetic(const space::GpuTarget& target) {
  Grid grid;
  grid.blocks = kBlocksPerUnit * target.compute_units, grid.threads = threads_of(target);
  const ir::Buffer factors = make_buffer("factors", 2 + kChains),
                   out = make_buffer("out", grid.blocks * grid.threads),
                   sums = make_buffer("sums", kChains, ir::Scope::Register);
  const auto factor = [&](std::int64_t i) { return ir::load(factors, {ir::int_imm(i)}); };
  const auto sum = [&](std::int64_t i) { return ir::load(sums, {ir::int_imm(i)}); };
  std::vector<Stmt> begin, updates;
  Expr total;
  for (std::int64_t i = 0; i < kChains; ++i) {
    begin.push_back(ir::make_store(sums, {ir::int_imm(i)}, factor(2 + i)));
    updates.push_back(
        ir::make_store(sums, {ir::int_imm(i)}, ir::mul_add(sum(i), factor(0), factor(1))));
    total = total ? total + sum(i) : sum(i);
  }
  begin.push_back(serial(ir::make_var("round"), kFmaRounds, ir::make_block(updates)));
  begin.push_back(ir::make_store(out, {grid.place()}, total));
  ir::Function function =
      grid.function("arithmetic_peak", ir::make_allocate(sums, ir::make_block(begin)));
  function.params = {factors, out};
  function.written = {false, true};
  ir::Module module;
  // |x| < 1, so that the chains stay finite and normal.
  module.buffers = {{factors, ir::Role::Constant, {ir::Fill::Kind::UniformReal, 0.25, 0.75, 1}},
                    {out, ir::Role::Output, {}}};
  module.functions = {function};
  module.launches = {{0, {0, 1}, false}};
  CalibrationProgram made;
  made.name = "fma all units", made.ceiling = Ceiling::Arithmetic;
  made.operations = 2.0 * double(grid.blocks * grid.threads * kChains * kFmaRounds);
  return finish(std::move(made), module, target);
}

// Every element of a long buffer is read once, four neighbours at once.
Result<CalibrationProgram> bandwidth(const space::GpuTarget& target) {
  Grid grid;
  grid.threads = threads_of(target);
  std::int64_t bytes = kMemoryBytes;
  if (target.memory_bytes > 0) bytes = std::min(bytes, target.memory_bytes / 4);
  grid.blocks =
      std::clamp<std::int64_t>(bytes / (4 * kLanes * kPieces * grid.threads), 1, target.grid_x);
  const std::int64_t piece = grid.blocks * grid.threads * kLanes;
  const ir::Buffer data = make_buffer("data", piece * kPieces),
                   out = make_buffer("out", grid.blocks * grid.threads * kLanes),
                   sums = make_buffer("sums", kLanes, ir::Scope::Register);
  const Expr lanes = ir::ramp(ir::int_imm(0), 1, int(kLanes)),
             own = grid.place() * ir::int_imm(kLanes);
  const Expr sum = ir::load(sums, {lanes}, nullptr, int(kLanes));
  std::vector<Stmt> body{
      ir::make_store(sums, {lanes}, ir::broadcast(ir::float_imm(0), int(kLanes)))};
  for (std::int64_t i = 0; i < kPieces; ++i) {
    const Expr from = ir::ramp(own + ir::int_imm(i * piece), 1, int(kLanes));
    body.push_back(
        ir::make_store(sums, {lanes}, sum + ir::load(data, {from}, nullptr, int(kLanes))));
  }
  body.push_back(ir::make_store(out, {ir::ramp(own, 1, int(kLanes))}, sum));
  ir::Function function = grid.function("read", ir::make_allocate(sums, ir::make_block(body)));
  function.params = {data, out};
  function.written = {false, true};
  ir::Module module;
  module.buffers = {{data, ir::Role::Scratch, {}}, {out, ir::Role::Output, {}}};
  module.functions = {function};
  module.launches = {{0, {0, 1}, false}};
  CalibrationProgram made;
  made.name = "read memory all units", made.ceiling = Ceiling::Bandwidth;
  made.bytes = 4.0 * double(piece * kPieces);
  made.operations = double(piece * kPieces);
  return finish(std::move(made), module, target);
}

Result<CalibrationProgram> empty_launch(const space::GpuTarget& target) {
  const Grid grid;
  const ir::Buffer out = make_buffer("out", 1);
  ir::Function function =
      grid.function("empty", ir::make_store(out, {grid.place()}, ir::float_imm(1)));
  function.params = {out};
  function.written = {true};
  ir::Module module;
  module.buffers = {{out, ir::Role::Output, {}}};
  module.functions = {function};
  module.launches = {{0, {0}, false}};
  CalibrationProgram made;
  made.name = "empty launch", made.ceiling = Ceiling::LaunchOverhead;
  return finish(std::move(made), module, target);
}

}  // namespace

Result<std::vector<CalibrationProgram>> cuda_calibration(const space::GpuTarget& target) {
  std::vector<CalibrationProgram> all;
  for (auto make : {arithmetic, bandwidth, empty_launch}) {
    Result<CalibrationProgram> made = make(target);
    if (!made) return std::move(made).error();
    all.push_back(std::move(*made));
  }
  return all;
}

}  // namespace fettle::backend::cuda_ptx
