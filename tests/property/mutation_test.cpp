// The output check is sharp: seeded mistakes in kernels, all of them caught by the
// comparison that a trial is accepted with, at the tolerance that it has.
#include <cstdlib>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "host/backend/cpu_llvm/program.h"
#include "host/ir/intrinsics.h"
#include "host/lower/cpu/lowering.h"
#include "host/space/reference.h"
#include "host/space/sketches/sketches.h"
#include "host/space/wire_types.h"
#include "host/space/workload.h"
#include "tests/property/kernel_mutations.h"
#include "tests/support/compare.h"
#include "tests/support/native_run.h"

namespace fettle::testing {
namespace {

// Stride 1, so that all padding is read; enough outputs that a wrong one is not by
// chance the one that relu makes zero.
struct Operator {
  const char* name;
  std::vector<const char*> workloads;
  const char* sketch = "";  // how its name ends
  bool by_fours = false;    // sums of int8 that may skip rows of padding
};
const Operator kOperators[] = {
    {"conv2d",
     {R"({"op":"conv2d","height":14,"width":14,"in_channels":16,"out_channels":48,"kernel":[3,3],"pad":[1,1],"tail":["bias","add","relu"]})",
      R"({"op":"conv2d","height":15,"width":13,"in_channels":24,"out_channels":40,"kernel":[3,3],"pad":[1,1],"tail":["bias","relu"]})",
      R"({"op":"conv2d","height":12,"width":18,"in_channels":64,"out_channels":64,"kernel":[1,1],"tail":["bias"]})",
      R"({"op":"conv2d","height":28,"width":28,"in_channels":3,"out_channels":32,"kernel":[5,5],"pad":[2,2],"tail":["bias","add"]})"}},
    {"conv2d NCHW",
     {R"({"op":"conv2d","layout":"NCHW","height":14,"width":18,"in_channels":8,"out_channels":12,"kernel":[3,3],"pad":[1,1],"tail":["bias","add","relu"]})"}},
    // Sizes that tiles divide: where the last of two begins early, its stride does not matter.
    {"conv2d NCHW, channels last",
     {R"({"op":"conv2d","layout":"NCHW","height":16,"width":16,"in_channels":8,"out_channels":32,"kernel":[3,3],"pad":[1,1],"tail":["bias","add","relu"]})",
      R"({"op":"conv2d","layout":"NCHW","height":9,"width":18,"in_channels":24,"out_channels":40,"kernel":[1,1],"tail":["bias"]})"},
     "_channels_last"},
    {"conv2d NCHW int8, channels last",
     {R"({"op":"conv2d","layout":"NCHW","height":14,"width":13,"in_channels":16,"out_channels":48,"kernel":[3,3],"pad":[1,1],"dtype":"int8","tail":["bias"]})"},
     "_channels_last",
     true},
    {"conv2d with groups",
     {R"({"op":"conv2d","height":14,"width":16,"in_channels":16,"out_channels":48,"groups":4,"kernel":[3,3],"pad":[1,1],"tail":["bias"]})",
      R"({"op":"conv2d","layout":"NCHW","height":11,"width":14,"in_channels":6,"out_channels":9,"groups":3,"kernel":[3,3],"pad":[1,1],"tail":["bias"]})"}},
    {"dense",
     {R"({"op":"dense","batch":12,"in_features":200,"out_features":120,"tail":["bias","add","relu"]})",
      R"({"op":"dense","batch":8,"in_features":160,"out_features":96,"tail":["multiply","bias","clip 0 1"]})"}},
    {"depthwise_conv2d",
     {R"({"op":"depthwise_conv2d","height":14,"width":15,"channels":40,"kernel":[3,3],"pad":[1,1],"tail":["bias","relu"]})",
      R"({"op":"depthwise_conv2d","layout":"NCHW","height":14,"width":20,"channels":12,"kernel":[3,5],"pad":[1,2],"tail":["bias","add","relu"]})"}},
    {"max_pool2d",
     {R"({"op":"max_pool2d","height":15,"width":13,"channels":32,"kernel":[3,3],"pad":[1,1],"tail":["add"]})"}},
    {"avg_pool2d",
     {R"({"op":"avg_pool2d","height":14,"width":14,"channels":24,"kernel":[3,3],"pad":[1,1],"tail":["bias"]})"}},
    {"global_avg_pool2d",
     {R"({"op":"global_avg_pool2d","batch":3,"height":7,"width":7,"channels":70})"}},
    // Without a shift, which would hide small mistakes.
    {"conv2d int8",
     {R"({"op":"conv2d","height":14,"width":13,"in_channels":16,"out_channels":48,"kernel":[3,3],"pad":[1,1],"dtype":"int8","tail":["bias"]})"},
     "",
     true},
    {"conv2d float16",
     {R"({"op":"conv2d","height":14,"width":13,"in_channels":16,"out_channels":48,"kernel":[3,3],"pad":[1,1],"dtype":"float16","tail":["bias","add"]})"}},
    {"depthwise_conv2d int8",
     {R"({"op":"depthwise_conv2d","height":14,"width":15,"channels":40,"kernel":[3,3],"pad":[1,1],"dtype":"int8","tail":["bias"]})"}},
    {"dense int8",
     {R"({"op":"dense","batch":12,"in_features":200,"out_features":120,"dtype":"int8","tail":["bias"]})"}},
    {"conv3d",
     {R"({"op":"conv3d","depth":6,"height":9,"width":11,"in_channels":8,"out_channels":24,"kernel":[3,3,3],"pad":[1,1,1],"tail":["bias","relu"]})"}},
    {"conv2d_transpose",
     {R"({"op":"conv2d_transpose","height":7,"width":15,"in_channels":12,"out_channels":24,"kernel":[4,4],"stride":[2,2],"tail":["bias"]})",
      R"({"op":"conv2d_transpose","height":6,"width":7,"in_channels":8,"out_channels":16,"kernel":[3,3],"stride":[3,3],"tail":["relu"]})"}},
    {"batch_matmul",
     {R"({"op":"batch_matmul","batch":3,"m":18,"k":40,"n":50,"tail":["bias"]})",
      R"({"op":"batch_matmul","batch":2,"m":16,"k":32,"n":64,"tail":["multiply","relu"]})"}},
    {"elementwise",
     {R"({"op":"elementwise","function":"add","shape":[6,20,37],"shape_b":[20,37],"tail":["relu"]})",
      R"({"op":"elementwise","function":"multiply","shape":[9,14,32],"shape_b":[9,1,32],"tail":["bias"]})"}},
    // Extents of which two overlapping tiles do not consist: one would mend the other's
    // mistake, where its own is around the tensor. Nor a last row of padding, whose load matters
    // in the first tile only, where it begins at zero whatever its stride is.
    {"pad",
     {R"({"op":"pad","shape":[3,12,25,8],"before":[0,1,2,0],"after":[0,3,1,0],"tail":["bias"]})",
      R"({"op":"pad","shape":[26,33],"before":[2,3],"after":[0,4],"value":1})"}},
    {"transpose", {R"({"op":"transpose","shape":[5,24,37],"permutation":[2,0,1],"tail":["add"]})"}},
    {"reduce",
     {R"({"op":"reduce","function":"mean","shape":[21,6,40],"axes":[1,2]})",
      R"({"op":"reduce","function":"sum","shape":[30,70],"axes":[0],"tail":["bias"]})",
      R"({"op":"reduce","function":"max","shape":[12,4,27],"axes":[1]})"}},
    {"softmax", {R"({"op":"softmax","batch":9,"features":72})"}},
    {"layer_norm", {R"({"op":"layer_norm","batch":9,"features":72,"tail":["add"]})"}},
};

struct Kernel {
  std::string text;
  ir::Module module;
  space::ExpectedTensor expected;
};

std::string wrong_in(const ir::Module& module, const space::ExpectedTensor& expected,
                     const space::CpuTarget& target) {
  Result<wire::ProgramT> program = backend::cpu_llvm::make_program(module, target);
  if (!program) return "build: " + program.error().text();
  Result<BufferBytes> buffers = run_natively(*program);
  if (!buffers) return "run: " + buffers.error().text();
  for (std::size_t i = 0; i < buffers->size(); ++i) {
    if (program->buffers[i]->role != wire::BufferRole::Output) continue;
    const auto type = space::wire_type(expected.type.scalar);
    return difference(as_numbers((*buffers)[i], type), as_numbers(expected.bytes, type),
                      expected.tolerance.absolute, expected.tolerance.relative);
  }
  return "no output";
}

// Two kernels of each workload, with inputs copied by launches of their own.
std::vector<Kernel> kernels(const Operator& op, const space::CpuTarget& target,
                            std::mt19937_64& rng) {
  std::vector<Kernel> all;
  for (const char* json : op.workloads) {
    space::Workload workload = space::Workload::parse(std::string(json)).value();
    const space::CpuSpace task = space::open_cpu_space(workload.dag(), target).value();
    const space::SearchSpace& space = task.space();
    space::ExpectedTensor expected = space::evaluate(workload.dag()).value().front();
    for (int i = 0; i < 2;) {
      const space::Configuration configuration = space.random(rng);
      const std::string text = space.to_json(configuration);
      if (!space.sketches()[configuration.sketch].name.ends_with(op.sketch)) continue;
      // Copies of each thread's own: with one thread, where they begin is no mistake.
      if (text.find("\"pad\":[1]") != std::string::npos) continue;
      if (text.find("\"pack\":[2]") != std::string::npos) continue;
      // Which part of a kernel without a copy is used depends on the image's size.
      if (text.find("\"pad\":[2]") != std::string::npos) continue;
      // Rows of padding that are left out are read by nobody, whatever they hold; int8 sums by
      // fours have zeros in no others.
      const bool skips = text.find("\"skip\":") != std::string::npos &&
                         text.find("\"skip\":[0]") == std::string::npos;
      if (op.by_fours && skips) continue;
      Result<ir::Module> module = lower::lower_configuration(task, configuration);
      if (!module) continue;
      all.push_back({workload.title() + " " + text, std::move(*module), expected});
      all.back().expected.tolerance.absolute *= task.error_growth(configuration);
      ++i;
    }
  }
  return all;
}

// Mistakes of each kind, in as many as the operator's kernels have a place for.
void check_operator(const Operator& op, const space::CpuTarget& target, std::mt19937_64& rng,
                    std::map<Mistake, int>& made) {
  const std::vector<Kernel> all = kernels(op, target, rng);
  for (const Kernel& kernel : all) {
    ASSERT_EQ("", wrong_in(kernel.module, kernel.expected, target))
        << "without a mistake: " << kernel.text;
  }
  int mutants = 0;
  for (int i = 0; i < 2 * static_cast<int>(Mistake::Count); ++i) {
    const auto mistake = static_cast<Mistake>(i % static_cast<int>(Mistake::Count));
    std::vector<const Kernel*> possible;
    for (const Kernel& kernel : all) {
      if (places(kernel.module, mistake) > 0) possible.push_back(&kernel);
    }
    if (possible.empty()) continue;
    const Kernel& kernel =
        *possible[std::uniform_int_distribution<std::size_t>(0, possible.size() - 1)(rng)];
    const int count = places(kernel.module, mistake);
    const int place = std::uniform_int_distribution<int>(0, count - 1)(rng);
    const std::string what = std::string(name_of(mistake)) + " at place " + std::to_string(place) +
                             " of " + std::to_string(count) + " in " + kernel.text;
    const std::string wrong =
        wrong_in(mutated(kernel.module, mistake, place), kernel.expected, target);
    EXPECT_NE(wrong, "") << "not caught: " << what;
    EXPECT_FALSE(wrong.starts_with("build") || wrong.starts_with("run")) << what << ": " << wrong;
    ++mutants, ++made[mistake];
  }
  EXPECT_GE(mutants, 10) << op.name;
  std::printf("%s: %d mutants\n", op.name, mutants);
}

TEST(Mutations, EverySeededMistakeIsCaught) {
  const char* given = std::getenv("FETTLE_PROPERTY_SEED");  // to try others
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 42;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 rng(seed);
  const space::CpuTarget target = native_target();
  std::map<Mistake, int> made;
  for (const Operator& op : kOperators) check_operator(op, target, rng, made);
  const ir::IntrinsicRow* bytes = target.sums_of_byte_products();
  for (int kind = 0; kind < static_cast<int>(Mistake::Count); ++kind) {
    const auto mistake = static_cast<Mistake>(kind);
    std::printf("%s: %d\n", name_of(mistake), made[mistake]);
    // Only a product of unsigned by signed bytes has a place for it.
    if (mistake == Mistake::WrongSign && (!bytes || !bytes->takes_unsigned())) continue;
    EXPECT_GT(made[mistake], 0) << name_of(mistake) << " was made nowhere";
  }
}

}  // namespace
}  // namespace fettle::testing
