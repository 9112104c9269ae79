// Ceilings of a CPU, as IR through the same code generator that candidates take.
#include "host/backend/cpu_llvm/calibration.h"

#include <algorithm>

#include "host/backend/cpu_llvm/program.h"
#include "host/ir/intrinsics.h"
#include "host/ir/module.h"

namespace fettle::backend::cpu_llvm {
namespace {

using ir::Expr;
using ir::Stmt;

constexpr std::int64_t kFmaRounds = 20'000;       // per launch: far above its overhead
constexpr std::int64_t kReadBytes = 8 << 20;      // per thread and launch from a cache
constexpr std::int64_t kMemoryBytes = 256 << 20;  // largest buffer read from main memory

ir::Buffer make_buffer(const char* name, std::int64_t elements, ir::DataType type = ir::kFloat32,
                       ir::Scope scope = ir::Scope::Global) {
  auto buffer = std::make_shared<ir::BufferDecl>();
  buffer->name = name;
  buffer->type = type;
  buffer->shape = {elements};
  buffer->scope = scope;
  return buffer;
}

Stmt serial(const ir::Var& var, std::int64_t extent, Stmt body) {
  return ir::make_for(var, ir::int_imm(0), ir::int_imm(extent), ir::ForKind::Serial,
                      std::move(body));
}

ir::Function make_function(const char* name, std::int64_t extent) {
  ir::Function function;
  function.name = name;
  function.parallel = ir::make_var("p");
  function.extent = extent;
  return function;
}

// `count` vectors in registers: each is begun with a loaded vector, changed by
// `update` in a loop, and stored, so that nothing of it can be left out.
class Accumulators {
 public:
  Accumulators(int count, int lanes, const ir::Buffer& start, const ir::Buffer& out, Expr row)
      : count_(count),
        lanes_(lanes),
        out_(out),
        row_(std::move(row)),
        tile_(make_buffer("tile", std::int64_t{count} * lanes, out->type, ir::Scope::Register)) {
    for (int i = 0; i < count; ++i) {
      begin_.push_back(ir::make_store(tile_, {at(i)}, ir::load(start, {at(i)}, nullptr, lanes)));
    }
  }
  Expr at(int i) const { return ir::ramp(ir::int_imm(std::int64_t{i} * lanes_), 1, lanes_); }
  Expr value(int i) const { return ir::load(tile_, {at(i)}, nullptr, lanes_); }
  Stmt set(int i, Expr value) const { return ir::make_store(tile_, {at(i)}, std::move(value)); }

  Stmt around(Stmt loop) const {
    std::vector<Stmt> all = begin_;
    all.push_back(std::move(loop));
    for (int i = 0; i < count_; ++i) {
      Expr to =
          row_ * ir::int_imm(std::int64_t{count_} * lanes_) + ir::int_imm(std::int64_t{i} * lanes_);
      all.push_back(ir::make_store(out_, {ir::ramp(to, 1, lanes_)}, value(i)));
    }
    return ir::make_allocate(tile_, ir::make_block(all));
  }

 private:
  int count_, lanes_;
  ir::Buffer out_;
  Expr row_;
  ir::Buffer tile_;
  std::vector<Stmt> begin_;
};

int lanes_of(const space::CpuTarget& target) { return std::max(target.vector_bits / 32, 1); }

// Independent chains: latency (up to 7 cycles) times ports (2) of the known cores,
// as far as registers go; two hold the factors and two are left for LLVM.
int chains_of(const space::CpuTarget& target) {
  return std::clamp(target.vector_registers - 4, 4, 24);
}

CalibrationProgram named(std::string name, Ceiling ceiling, int threads) {
  CalibrationProgram program;
  program.name = std::move(name) + (threads == 1 ? " one core" : " all cores");
  program.ceiling = ceiling;
  program.threads = threads;
  return program;
}

Result<CalibrationProgram> finish(CalibrationProgram made, const ir::Module& module,
                                  const space::CpuTarget& target) {
  Result<wire::ProgramT> program = make_program(module, target);
  if (!program)
    return std::move(program).error().in("building the calibration program \"" + made.name + "\"");
  made.program = std::move(*program);
  return made;
}

// Chains of sum = update(sum, x, y). x and y stay in registers. each: operations of an update of
// one lane.
template <typename Update>
Result<CalibrationProgram> chained(CalibrationProgram made, ir::DataType type, ir::Fill fill,
                                   double each, const space::CpuTarget& target, Update update) {
  const int lanes = lanes_of(target), chains = chains_of(target), threads = made.threads;
  const std::int64_t width = std::int64_t{lanes} * chains;
  ir::Function function = make_function("arithmetic_peak", threads);
  ir::Buffer start = make_buffer("start", width, type),
             factors = make_buffer("factors", 2 * lanes, type);
  ir::Buffer out = make_buffer("out", width * threads, type);
  function.params = {start, factors, out};
  function.written = {false, false, true};
  Accumulators sums(chains, lanes, start, out, ir::var_ref(function.parallel));
  Expr x = ir::load(factors, {ir::ramp(ir::int_imm(0), 1, lanes)}, nullptr, lanes);
  Expr y = ir::load(factors, {ir::ramp(ir::int_imm(lanes), 1, lanes)}, nullptr, lanes);
  std::vector<Stmt> updates;
  for (int i = 0; i < chains; ++i) updates.push_back(sums.set(i, update(sums.value(i), x, y)));
  function.body = sums.around(serial(ir::make_var("round"), kFmaRounds, ir::make_block(updates)));

  ir::Module module;
  module.buffers = {{start, ir::Role::Input, fill},
                    {factors, ir::Role::Constant, fill},
                    {out, ir::Role::Output, {}}};
  module.functions = {function};
  module.launches = {{0, {0, 1, 2}, false}};
  made.operations = each * static_cast<double>(width * kFmaRounds * threads);
  return finish(std::move(made), module, target);
}

// |x| < 1, so that the chains stay finite and normal.
Result<CalibrationProgram> arithmetic(const space::CpuTarget& target, int threads) {
  return chained(
      named("fma", Ceiling::Arithmetic, threads), ir::kFloat32,
      {ir::Fill::Kind::UniformReal, 0.25, 0.75, 1}, 2, target,
      [](const Expr& sum, const Expr& x, const Expr& y) { return ir::mul_add(sum, x, y); });
}

// Of sums of products of bytes, whose instruction does more operations at once than any other.
Result<CalibrationProgram> integer_arithmetic(const space::CpuTarget& target,
                                              const ir::IntrinsicRow& row, int threads) {
  return chained(named(row.name, Ceiling::IntegerArithmetic, threads), row.accumulator().packed,
                 {ir::Fill::Kind::UniformInt, -1e6, 1e6, 1}, row.operations.integer, target,
                 [&](const Expr& sum, const Expr& x, const Expr& y) {
                   return ir::intrinsic(row, {x, y, sum});
                 });
}

// Every thread reads `bytes` of its own, `rounds` times. A prepare launch writes them
// first: pages never written would all be the kernel's one page of zeros.
Result<CalibrationProgram> bandwidth(const space::CpuTarget& target, int level, std::int64_t bytes,
                                     std::int64_t rounds, int threads) {
  const int lanes = lanes_of(target);
  const int sums_count = std::min(chains_of(target), 8);
  const std::int64_t step = std::int64_t{lanes} * sums_count;
  const std::int64_t elements = std::max(bytes / 4 / step, std::int64_t{1}) * step;
  ir::Buffer data = make_buffer("data", elements * threads);
  ir::Buffer start = make_buffer("start", step), out = make_buffer("out", step * threads);

  ir::Function write = make_function("write", threads);
  ir::Var i = ir::make_var("i");
  write.params = {data};
  write.written = {true};
  Expr to =
      ir::var_ref(write.parallel) * ir::int_imm(elements) + ir::var_ref(i) * ir::int_imm(lanes);
  write.body = serial(
      i, elements / lanes,
      ir::make_store(data, {ir::ramp(to, 1, lanes)}, ir::broadcast(ir::float_imm(0.5), lanes)));

  ir::Function read = make_function("read", threads);
  read.params = {data, start, out};
  read.written = {false, false, true};
  Accumulators sums(sums_count, lanes, start, out, ir::var_ref(read.parallel));
  ir::Var k = ir::make_var("k");
  std::vector<Stmt> updates;
  for (int j = 0; j < sums_count; ++j) {
    Expr from = ir::var_ref(read.parallel) * ir::int_imm(elements) +
                ir::var_ref(k) * ir::int_imm(step) + ir::int_imm(std::int64_t{j} * lanes);
    updates.push_back(
        sums.set(j, sums.value(j) + ir::load(data, {ir::ramp(from, 1, lanes)}, nullptr, lanes)));
  }
  read.body = sums.around(
      serial(ir::make_var("round"), rounds, serial(k, elements / step, ir::make_block(updates))));

  ir::Module module;
  module.buffers = {{data, ir::Role::Scratch, {}},
                    {start, ir::Role::Input, {ir::Fill::Kind::UniformReal, 0.25, 1, 1}},
                    {out, ir::Role::Output, {}}};
  module.functions = {write, read};
  module.launches = {{0, {0}, true}, {1, {0, 1, 2}, false}};
  CalibrationProgram made = named(level == 0 ? "read memory" : "read L" + std::to_string(level),
                                  Ceiling::Bandwidth, threads);
  made.cache_level = level;
  made.bytes = 4.0 * static_cast<double>(elements * rounds * threads);
  made.operations = static_cast<double>(elements * rounds * threads);
  return finish(std::move(made), module, target);
}

// A first level also writes while it reads: every thread adds two rows of its own, `rounds` times.
Result<CalibrationProgram> additions(const space::CpuTarget& target, std::int64_t bytes,
                                     std::int64_t rounds, int threads) {
  const int lanes = lanes_of(target), at_once = std::min(chains_of(target), 8);
  const std::int64_t step = std::int64_t{lanes} * at_once;
  const std::int64_t elements = std::max(bytes / 12 / step, std::int64_t{1}) * step;
  ir::Buffer a = make_buffer("a", elements * threads), b = make_buffer("b", elements * threads),
             out = make_buffer("out", elements * threads);
  ir::Function add = make_function("add", threads);
  add.params = {a, b, out};
  add.written = {false, false, true};
  ir::Var k = ir::make_var("k");
  std::vector<Stmt> stores;
  for (int j = 0; j < at_once; ++j) {
    const Expr at =
        ir::ramp(ir::var_ref(add.parallel) * ir::int_imm(elements) +
                     ir::var_ref(k) * ir::int_imm(step) + ir::int_imm(std::int64_t{j} * lanes),
                 1, lanes);
    stores.push_back(ir::make_store(
        out, {at}, ir::load(a, {at}, nullptr, lanes) + ir::load(b, {at}, nullptr, lanes)));
  }
  add.body =
      serial(ir::make_var("round"), rounds, serial(k, elements / step, ir::make_block(stores)));
  ir::Module module;
  module.buffers = {{a, ir::Role::Input, {ir::Fill::Kind::UniformReal, 0.25, 1, 1}},
                    {b, ir::Role::Input, {ir::Fill::Kind::UniformReal, 0.25, 1, 2}},
                    {out, ir::Role::Output, {}}};
  module.functions = {add};
  module.launches = {{0, {0, 1, 2}, false}};
  CalibrationProgram made = named("add in L1", Ceiling::Bandwidth, threads);
  made.cache_level = 1;
  made.bytes = 12.0 * static_cast<double>(elements * rounds * threads);
  made.operations = static_cast<double>(elements * rounds * threads);
  return finish(std::move(made), module, target);
}

Result<CalibrationProgram> empty_launch(const space::CpuTarget& target, int threads) {
  ir::Function function = make_function("empty", threads);
  ir::Buffer out = make_buffer("out", threads);
  function.params = {out};
  function.written = {true};
  function.body = ir::make_store(out, {ir::var_ref(function.parallel)}, ir::float_imm(1));
  ir::Module module;
  module.buffers = {{out, ir::Role::Output, {}}};
  module.functions = {function};
  module.launches = {{0, {0}, false}};
  return finish(named("empty launch", Ceiling::LaunchOverhead, threads), module, target);
}

// What one thread reads to stay in a level: half of its share, so that the code, the
// stack and the neighbours fit beside it; of a huge last cache a part that kernels use.
std::int64_t share_of(const space::CacheLevel& cache, std::int64_t level_below, int threads) {
  const std::int64_t half = cache.bytes / 2 / std::max(1, std::min(cache.shared_by, threads));
  return std::min(half, std::max<std::int64_t>(4 * level_below, 16 << 20));
}

}  // namespace

Result<std::vector<CalibrationProgram>> cpu_calibration(const space::CpuTarget& target) {
  std::vector<int> counts = {1};
  if (target.threads > 1) counts.push_back(target.threads);
  std::vector<CalibrationProgram> all;
  std::optional<Error> problem;
  auto add = [&](Result<CalibrationProgram> made) {
    if (made.ok()) {
      all.push_back(std::move(*made));
    } else if (!problem) {
      problem = std::move(made).error();
    }
  };
  std::int64_t last_level = 0;
  for (const space::CacheLevel& cache : target.caches)
    last_level = std::max(last_level, cache.bytes);
  for (int threads : counts) {
    add(arithmetic(target, threads));
    if (const ir::IntrinsicRow* row = target.sums_of_byte_products()) {
      add(integer_arithmetic(target, *row, threads));
    }
    std::int64_t level_below = 0;
    for (const space::CacheLevel& cache : target.caches) {
      const std::int64_t bytes =
          std::min(share_of(cache, level_below, threads), kMemoryBytes / threads);
      level_below = cache.bytes;
      const auto rounds = std::max<std::int64_t>(kReadBytes / std::max<std::int64_t>(bytes, 1), 1);
      if (cache.level == 1) add(additions(target, bytes, rounds, threads));
      add(bandwidth(target, cache.level, bytes, rounds, threads));
    }
    // Four times the last cache where that is affordable; a server's last cache may
    // hold it all, which only makes the ceiling higher than main memory's own.
    std::int64_t memory = std::min(std::max<std::int64_t>(4 * last_level, 16 << 20), kMemoryBytes);
    if (target.memory_bytes > 0) memory = std::min(memory, target.memory_bytes / 4);
    add(bandwidth(target, 0, memory / threads, 1, threads));
    add(empty_launch(target, threads));
  }
  if (problem) return *problem;
  return all;
}

}  // namespace fettle::backend::cpu_llvm
