// Ceilings of GPUs, as IR through the same code generator that candidates take.
#include "host/backend/gpu_calibration.h"

#include <algorithm>

namespace fettle::backend {
namespace {

using ir::Expr;
using ir::Stmt;

constexpr std::int64_t kThreads = 256;                   // of a block
constexpr std::int64_t kBlocksPerUnit = 8;               // 2048 threads: all that a unit holds
constexpr std::int64_t kChains = 8, kVectorChains = 12;  // of each thread, independent
constexpr std::int64_t kFmaRounds = 2048;                // some 100 µs
constexpr std::int64_t kLanes = 4;                // floats that a thread reads at once, at least
constexpr std::int64_t kCacheBytes = 16 << 10;    // read again and again: any first cache holds it
constexpr std::int64_t kCacheRounds = 512;        // of that
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

// `lanes` neighbours from element `at` on; one: the element.
Expr wide(const Expr& at, std::int64_t lanes) {
  return lanes == 1 ? at : ir::ramp(at, 1, int(lanes));
}
Expr wide_load(const ir::Buffer& buffer, const Expr& at, std::int64_t lanes) {
  return ir::load(buffer, {wide(at, lanes)}, nullptr, int(lanes));
}
Expr copies(const Expr& value, std::int64_t lanes) {
  return lanes == 1 ? value : ir::broadcast(value, int(lanes));
}

struct Ceilings {
  const space::GpuTarget& target;
  MakeProgram* make_program;

  Result<CalibrationProgram> finish(CalibrationProgram made, const ir::Module& module) const {
    Result<wire::ProgramT> program = make_program(module, target);
    if (!program) {
      return std::move(program).error().in("building the calibration program \"" + made.name +
                                           "\"");
    }
    made.program = std::move(*program);
    return made;
  }
  std::int64_t threads() const {
    return std::min<std::int64_t>(kThreads, target.threads_per_block);
  }
  std::int64_t read_lanes() const { return std::max<std::int64_t>(kLanes, target.vector_width); }

  Result<CalibrationProgram> arithmetic() const;
  Result<CalibrationProgram> memory() const;
  Result<CalibrationProgram> cache() const;
  Result<CalibrationProgram> empty_launch() const;
};

// Chains of sum = sum * x + y in registers, on all compute units.
Result<CalibrationProgram> Ceilings::arithmetic() const {
  Grid grid;
  grid.blocks = kBlocksPerUnit * target.compute_units, grid.threads = threads();
  const std::int64_t lanes = target.vector_width, chains = lanes > 1 ? kVectorChains : kChains;
  const ir::Buffer factors = make_buffer("factors", 2 + chains),
                   out = make_buffer("out", grid.blocks * grid.threads * lanes),
                   sums = make_buffer("sums", chains * lanes, ir::Scope::Register);
  const auto factor = [&](std::int64_t i) {
    return copies(ir::load(factors, {ir::int_imm(i)}), lanes);
  };
  const auto place = [&](std::int64_t i) { return ir::int_imm(i * lanes); };
  const auto sum = [&](std::int64_t i) { return wide_load(sums, place(i), lanes); };
  std::vector<Stmt> begin, updates;
  Expr total;
  for (std::int64_t i = 0; i < chains; ++i) {
    begin.push_back(ir::make_store(sums, {wide(place(i), lanes)}, factor(2 + i)));
    updates.push_back(
        ir::make_store(sums, {wide(place(i), lanes)}, ir::mul_add(sum(i), factor(0), factor(1))));
    total = total ? total + sum(i) : sum(i);
  }
  begin.push_back(serial(ir::make_var("round"), kFmaRounds, ir::make_block(updates)));
  begin.push_back(ir::make_store(out, {wide(grid.place() * ir::int_imm(lanes), lanes)}, total));
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
  made.operations = 2.0 * double(grid.blocks * grid.threads * chains * kFmaRounds * lanes);
  return finish(std::move(made), module);
}

// Every element of a long buffer is read once, several neighbours at once.
Result<CalibrationProgram> Ceilings::memory() const {
  Grid grid;
  grid.threads = threads();
  const std::int64_t lanes = read_lanes();
  std::int64_t bytes = kMemoryBytes;
  if (target.memory_bytes > 0) bytes = std::min(bytes, target.memory_bytes / 4);
  grid.blocks =
      std::clamp<std::int64_t>(bytes / (4 * lanes * kPieces * grid.threads), 1, target.grid_x);
  const std::int64_t piece = grid.blocks * grid.threads * lanes;
  const ir::Buffer data = make_buffer("data", piece * kPieces), out = make_buffer("out", piece),
                   sums = make_buffer("sums", lanes, ir::Scope::Register);
  const Expr own = grid.place() * ir::int_imm(lanes), all = wide(ir::int_imm(0), lanes),
             sum = wide_load(sums, ir::int_imm(0), lanes);
  std::vector<Stmt> body{ir::make_store(sums, {all}, copies(ir::float_imm(0), lanes))};
  for (std::int64_t i = 0; i < kPieces; ++i) {
    body.push_back(
        ir::make_store(sums, {all}, sum + wide_load(data, own + ir::int_imm(i * piece), lanes)));
  }
  body.push_back(ir::make_store(out, {wide(own, lanes)}, sum));
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
  return finish(std::move(made), module);
}

// A short buffer, all of it by every thread, each round from another place on.
Result<CalibrationProgram> Ceilings::cache() const {
  Grid grid;
  grid.blocks = kBlocksPerUnit * target.compute_units, grid.threads = threads();
  const std::int64_t lanes = read_lanes(), elements = kCacheBytes / 4, together = kChains * lanes;
  const ir::Buffer data = make_buffer("data", elements),
                   out = make_buffer("out", grid.blocks * grid.threads * lanes),
                   sums = make_buffer("sums", together, ir::Scope::Register);
  const ir::Var round = ir::make_var("round");
  const Expr own = grid.place() * ir::int_imm(lanes);
  std::vector<Stmt> body, reads;
  Expr total;
  for (std::int64_t i = 0; i < kChains; ++i) {
    const Expr sum = wide_load(sums, ir::int_imm(i * lanes), lanes),
               from = ir::binary(
                   ir::BinaryOp::Mod,
                   own + ir::var_ref(round) * ir::int_imm(together) + ir::int_imm(i * lanes),
                   ir::int_imm(elements));
    const Expr to = wide(ir::int_imm(i * lanes), lanes);
    body.push_back(ir::make_store(sums, {to}, copies(ir::float_imm(0), lanes)));
    reads.push_back(ir::make_store(sums, {to}, sum + wide_load(data, from, lanes)));
    total = total ? total + sum : sum;
  }
  body.push_back(serial(round, kCacheRounds, ir::make_block(reads)));
  body.push_back(ir::make_store(out, {wide(own, lanes)}, total));
  ir::Function function =
      grid.function("read_again", ir::make_allocate(sums, ir::make_block(body)));
  function.params = {data, out};
  function.written = {false, true};
  ir::Module module;
  module.buffers = {{data, ir::Role::Constant, {ir::Fill::Kind::UniformReal, 0.25, 0.75, 1}},
                    {out, ir::Role::Output, {}}};
  module.functions = {function};
  module.launches = {{0, {0, 1}, false}};
  CalibrationProgram made;
  made.name = "read cache all units", made.ceiling = Ceiling::Bandwidth, made.cache_level = 1;
  made.bytes = 4.0 * double(grid.blocks * grid.threads * together * kCacheRounds);
  made.operations = made.bytes / 4;
  return finish(std::move(made), module);
}

Result<CalibrationProgram> Ceilings::empty_launch() const {
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
  return finish(std::move(made), module);
}

}  // namespace

Result<std::vector<CalibrationProgram>> gpu_calibration(const space::GpuTarget& target,
                                                        MakeProgram* make_program) {
  const Ceilings ceilings{target, make_program};
  std::vector<CalibrationProgram> all;
  for (auto make :
       {&Ceilings::arithmetic, &Ceilings::memory, &Ceilings::cache, &Ceilings::empty_launch}) {
    Result<CalibrationProgram> made = (ceilings.*make)();
    if (!made) return std::move(made).error();
    all.push_back(std::move(*made));
  }
  return all;
}

}  // namespace fettle::backend
