// Facts are lower bounds: no program executes fewer operations or touches fewer bytes than
// they say. Counted by the interpreter, on programs that note what they do.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "host/ir/interpreter.h"
#include "host/ir/mutator.h"
#include "host/lower/cpu/lowering.h"
#include "host/lower/facts.h"
#include "host/space/compulsory.h"
#include "host/space/sketches/sketches.h"
#include "host/space/workload.h"
#include "tests/property/random_workload.h"

namespace fettle {
namespace {

constexpr ir::DataType kByte{ir::Scalar::UInt8, 1};

// Operations on floats, or on int8 and their sums; those of a node that is used twice once.
// Whatever has to do with indices is under a load or a choice's condition.
double operations_on(bool floats, const ir::Expr& value) {
  std::set<const ir::ExprNode*> seen, not_values;
  double sum = 0;
  ir::walk(value, [&](const ir::Expr& e) {
    const auto* choice = std::get_if<ir::Select>(&e->node);
    const auto* load = std::get_if<ir::Load>(&e->node);
    const auto leave_out = [&](const ir::Expr& part) {
      ir::walk(part, [&](const ir::Expr& inner) { not_values.insert(inner.get()); });
    };
    if (choice) leave_out(choice->condition);
    if (load && load->predicate) leave_out(load->predicate);
    if (load) std::for_each(load->indices.begin(), load->indices.end(), leave_out);
    const bool counted =
        floats ? e->type.is_float() : e->type.is_int() && !not_values.count(e.get());
    if (!counted || !seen.insert(e.get()).second) return;
    const bool one =
        std::holds_alternative<ir::Binary>(e->node) || std::holds_alternative<ir::Unary>(e->node);
    // Four products and their sums.
    const bool dot = std::holds_alternative<ir::Intrinsic>(e->node);
    const double each = std::holds_alternative<ir::MulAdd>(e->node) ? 2 : dot ? 8 : one ? 1 : 0;
    sum += each * e->type.lanes;
  });
  return sum;
}

// Before each store: its executions are counted, and what it touches of the module's
// buffers is marked.
class Noting : public ir::Mutator {
 public:
  std::map<ir::Buffer, ir::Buffer> marks;  // of a buffer: a byte for each element
  struct Counter {
    ir::Buffer buffer;
    double operations, integer_operations;  // of each count
  };
  std::vector<Counter> counters;

  using ir::Mutator::mutate;
  ir::Stmt mutate(const ir::Stmt& stmt) override {
    const auto* store = stmt ? std::get_if<ir::Store>(&stmt->node) : nullptr;
    if (!store) return ir::Mutator::mutate(stmt);
    std::vector<ir::Stmt> all;
    const auto mark = [&](const ir::Buffer& buffer, const std::vector<ir::Expr>& indices,
                          const ir::Expr& predicate, int lanes) {
      if (buffer->scope != ir::Scope::Global) return;
      ir::Buffer& marked = marks[buffer];
      if (!marked) {
        ir::BufferDecl decl = *buffer;
        decl.type = kByte;
        marked = std::make_shared<const ir::BufferDecl>(std::move(decl));
      }
      const ir::Expr one = ir::int_imm(1, kByte);
      all.push_back(
          ir::make_store(marked, indices, lanes == 1 ? one : ir::broadcast(one, lanes), predicate));
    };
    ir::walk(store->value, [&](const ir::Expr& e) {
      if (const auto* load = std::get_if<ir::Load>(&e->node)) {
        mark(load->buffer, load->indices, load->predicate, e->type.lanes);
      }
    });
    mark(store->buffer, store->indices, store->predicate, store->value->type.lanes);
    const auto counter =
        std::make_shared<const ir::BufferDecl>(ir::BufferDecl{"count", ir::kInt64, {1}});
    const ir::Expr first = ir::int_imm(0);
    all.push_back(
        ir::make_store(counter, {first}, ir::load(counter, {first}) + ir::int_imm(1, ir::kInt64)));
    counters.push_back(
        {counter, operations_on(true, store->value), operations_on(false, store->value)});
    all.push_back(stmt);
    return ir::make_block(std::move(all));
  }
};

struct Done {
  double operations = 0, integer_operations = 0, bytes = 0;
};

// What one timed run does. Bytes: of inputs, outputs and constants, packed ones as packed.
void count(const ir::Module& module, int threads, Done& done) {
  std::map<ir::Buffer, std::vector<std::uint8_t>> contents;
  std::set<ir::Buffer> packed;
  std::map<ir::Buffer, ir::Buffer> marks;
  for (const ir::Launch& launch : module.launches) {
    const ir::Function& function = module.functions[launch.function];
    if (launch.prepare) {
      for (std::size_t i = 0; i < function.params.size(); ++i) {
        if (function.written[i]) packed.insert(function.params[i]);
      }
      continue;
    }
    Noting noting;
    noting.marks = marks;
    const ir::Stmt body = noting.mutate(function.body);
    marks = noting.marks;
    ir::Memory memory;
    const auto bind = [&](const ir::Buffer& buffer) {
      auto& bytes = contents[buffer];
      bytes.resize(std::size_t(buffer->elements() * buffer->type.bytes()));
      memory[buffer] = bytes;
    };
    for (const ir::Buffer& buffer : function.params) bind(buffer);
    for (const auto& [buffer, marked] : marks) bind(marked);
    for (const auto& counter : noting.counters) bind(counter.buffer);
    for (std::int64_t i = 0; i < function.extent; ++i) {
      std::map<ir::Var, std::int64_t> values{{function.parallel, i}};
      if (function.thread) values[function.thread] = i % threads;
      const ir::Problem problem = ir::interpret(body, memory, values);
      ASSERT_FALSE(problem) << *problem;
    }
    for (const auto& [counter, operations, integer_operations] : noting.counters) {
      std::int64_t times = 0;
      std::memcpy(&times, contents[counter].data(), sizeof times);
      done.operations += double(times) * operations;
      done.integer_operations += double(times) * integer_operations;
    }
  }
  for (const ir::ProgramBuffer& b : module.buffers) {
    if (!marks.count(b.buffer) || (b.role == ir::Role::Scratch && !packed.count(b.buffer))) {
      continue;
    }
    for (const std::uint8_t touched : contents[marks[b.buffer]]) {
      done.bytes += touched * b.buffer->type.bytes();
    }
  }
}

struct Share {
  double facts = 0, done = 0;
};

// facts <= what is done, for every program; how much of it they cover, in all.
void check(const space::CpuSpace& task, const space::Configuration& configuration,
           const std::string& what, Share& operations, Share& integers, Share& bytes) {
  SCOPED_TRACE(what);
  auto module = lower::lower_configuration(task, configuration);
  ASSERT_TRUE(module) << module.error().text();
  const lower::ProgramFacts facts = lower::program_facts(*module);
  const double least = facts.operations, touched = space::compulsory_bytes(task.dag());
  Done done;
  count(*module, task.target().threads, done);
  ASSERT_LE(least, done.operations);
  ASSERT_LE(facts.integer_operations, done.integer_operations);
  integers.facts += facts.integer_operations, integers.done += done.integer_operations;
  ASSERT_LE(touched, done.bytes);
  operations.facts += least, operations.done += done.operations;
  bytes.facts += touched, bytes.done += done.bytes;
}

// FETTLE_PROPERTY_SEED repeats one run; FETTLE_PROPERTY_COUNT runs longer.
std::uint64_t from_environment(const char* name, std::uint64_t fallback) {
  const char* value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : fallback;
}

TEST(FactsProperty, RandomProgramsDoNoLess) {
  const std::uint64_t seed = from_environment("FETTLE_PROPERTY_SEED", 20260303);
  const std::uint64_t count = from_environment("FETTLE_PROPERTY_COUNT", 300);
  std::printf("seed %llu, %llu configurations\n", (unsigned long long)seed,
              (unsigned long long)count);
  std::mt19937_64 rng(seed);
  const auto targets = property::small_targets();
  Share operations, integers, bytes;
  for (std::uint64_t i = 0; i < count; ++i) {
    const space::Workload workload = property::random_workload(rng);
    const space::CpuTarget& target = targets[i % targets.size()];
    const auto task = space::open_cpu_space(workload.dag(), target);
    ASSERT_TRUE(task) << task.error().text();
    const space::SearchSpace* space = &task->space();
    const auto configuration = space->random(rng);
    check(*task, configuration,
          workload.canonical() + " " + target.cpu + " " + space->to_json(configuration), operations,
          integers, bytes);
    if (HasFatalFailure()) return;
  }
  std::printf("operations %.4f, of integers %.4f, bytes %.4f of what is done\n",
              operations.facts / operations.done, integers.facts / integers.done,
              bytes.facts / bytes.done);
  // Loops decide all conditions of such small programs.
  EXPECT_GT(operations.facts, 0.999 * operations.done);
  EXPECT_GT(integers.facts, 0.99 * integers.done);
  EXPECT_GT(bytes.facts, 0.8 * bytes.done);
}

// Where padding is as wide as the image, kernels that skip it do a fraction of the layer.
TEST(FactsProperty, WidePaddingAndStrides) {
  const std::vector<std::string> layers = {
      R"({"op":"conv2d","height":1,"width":1,"in_channels":8,"out_channels":16,"kernel":3,"pad":1})",
      R"({"op":"conv2d","height":2,"width":3,"in_channels":8,"out_channels":16,"kernel":3,"pad":1,"tail":["bias"]})",
      R"({"op":"conv2d","height":7,"width":7,"in_channels":4,"out_channels":16,"kernel":3,"pad":6,"dilation":6})",
      R"({"op":"conv2d","height":5,"width":5,"in_channels":4,"out_channels":16,"kernel":3,"pad":4,"dilation":4})",
      R"({"op":"conv2d","height":6,"width":6,"in_channels":4,"out_channels":16,"kernel":1,"stride":2})",
      R"({"op":"conv2d","layout":"NCHW","height":1,"width":5,"in_channels":8,"out_channels":16,"kernel":3,"pad":1,"stride":2})",
      R"({"op":"depthwise_conv2d","height":4,"width":4,"channels":16,"kernel":3,"pad":4,"dilation":4})",
      R"({"op":"depthwise_conv2d","height":9,"width":9,"channels":16,"kernel":1,"stride":2})",
      R"({"op":"max_pool2d","height":9,"width":7,"channels":16,"kernel":1,"stride":2})",
      R"({"op":"conv2d_transpose","height":2,"width":1,"in_channels":4,"out_channels":8,"kernel":4,"stride":2,"pad":1})",
      R"({"op":"conv3d","depth":1,"height":1,"width":4,"in_channels":4,"out_channels":8,"kernel":[3,3,3],"pad":[1,1,1]})"};
  std::mt19937_64 rng(1);
  for (const std::string& layer : layers) {
    const auto workload = space::Workload::parse(layer);
    ASSERT_TRUE(workload) << workload.error().text();
    Share operations, integers, bytes;
    for (int i = 0; i < 24; ++i) {
      const space::CpuTarget target = property::small_targets()[std::size_t(i % 6)];
      const auto task = space::open_cpu_space(workload->dag(), target);
      ASSERT_TRUE(task) << task.error().text();
      const space::SearchSpace* space = &task->space();
      const auto configuration = space->random(rng);
      check(*task, configuration, layer + " " + target.cpu + " " + space->to_json(configuration),
            operations, integers, bytes);
      if (HasFatalFailure()) return;
    }
    std::printf("bytes %.4f of %s\n", bytes.facts / bytes.done, layer.c_str());
    EXPECT_GT(operations.facts, 0.999 * operations.done) << layer;
  }
}

}  // namespace
}  // namespace fettle
