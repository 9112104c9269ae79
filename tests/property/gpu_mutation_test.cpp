// Programs for GPUs with one thing wrong: the interpreter, which runs their threads, catches each,
// and so does what is done with OpenCL C: a trial's check of its answer on this machine's driver,
// or Oclgrind.
#include <nlohmann/json.hpp>

#include "host/backend/opencl_c/program.h"
#include "host/backend/opencl_c/source_writer.h"
#include "host/ir/printer.h"
#include "host/lower/gpu/lowering.h"
#include "tests/property/gpu_mutations.h"
#include "tests/property/interpreted.h"
#include "tests/property/opencl_cases.h"
#include "tests/support/oclgrind.h"
#include "tests/support/opencl_candidates.h"

namespace fettle::testing {
namespace {

using property::GpuMistake;

struct Case {
  const char *workload, *configuration;
  const char* backend = "opencl_c";  // another's programs are interpreted only
  int harmless_barriers = 0;         // whose absence changes nothing, to the interpreter
  // That let one more through, with no effect: what is read and not used, and what goes past one of
  // several places into the next, which is filled before it is read.
  int harmless_guards = 0;
  // What a run need not show: barriers between threads that all store one and the same number, and
  // guards of memory for which any number does.
  int unseen_barriers = 0, unseen_guards = 0;
  // Guards that are no narrower: of every second pixel, one before an odd border.
  int harmless_narrow = 0;
};

// Steps of a sum staged in shared memory, by more threads than it has elements, and ahead, by the
// threads and by copies beside them; tiles by warps; rows shared out
// over threads; guards of a launch's last block.
constexpr Case kCases[] = {
    {R"({"op":"batch_matmul","batch":1,"m":13,"n":21,"k":24})",
     R"({"sketch":"gpu_tiled","knobs":{"rows":[4,2],"columns":[8,2],"step":[6],"unroll":[512],
         "neighbours":[0],"shared":[3],"first_order":[0],"second_order":[0]}})"},
    {R"({"op":"conv2d","height":7,"width":6,"in_channels":5,"out_channels":12,"kernel":[3,3],"pad":[1,1],"tail":["bias","relu"]})",
     R"({"sketch":"gpu_tiled","knobs":{"rows":[8,2],"columns":[4,2],"step":[8],"unroll":[64],
         "neighbours":[1],"shared":[3],"first_order":[1],"second_order":[0],"packed":[0],
         "source":[0]}})"},
    {R"({"op":"conv2d","height":6,"width":7,"in_channels":9,"out_channels":8,"kernel":[3,3],"pad":[1,1],"tail":["bias"]})",
     R"({"sketch":"gpu_winograd_2","knobs":{"rows":[4,2],"columns":[4,2],"step":[4],"unroll":[64],
         "neighbours":[0],"shared":[3],"first_order":[1],"second_order":[0],
         "transform_threads":[32],"source":[0]}})",
     "opencl_c", 0, 0, 0, 2, 2},
    {R"({"op":"dense","batch":5,"in_features":64,"out_features":7,"tail":["bias"]})",
     R"({"sketch":"gpu_split","knobs":{"rows":[2,2],"columns":[2,2],"step":[4],"unroll":[64],
         "neighbours":[0],"shared":[3],"first_order":[1],"second_order":[0],"packed":[0],
         "parts":[4]}})"},
    {R"({"op":"reduce","shape":[12,6,9],"function":"sum","axes":[0,1],"dtype":"float32"})",
     R"({"sketch":"gpu_sums","knobs":{"columns":[4],"threads":[16],"parts":[1],"unroll":[1]}})"},
    {R"({"op":"batch_matmul","batch":1,"m":13,"n":21,"k":24})",
     R"({"sketch":"gpu_tiled","knobs":{"rows":[4,2],"columns":[8,2],"step":[6],"unroll":[512],
         "neighbours":[0],"shared":[3],"first_order":[0],"second_order":[0],"stages":[2,0]}})",
     "opencl_c", 0, 2, 0, 3},
    {R"({"op":"batch_matmul","batch":1,"m":13,"n":21,"k":24})",
     R"({"sketch":"gpu_tiled","knobs":{"rows":[4,2],"columns":[8,2],"step":[6],"unroll":[512],
         "neighbours":[0],"shared":[3],"first_order":[0],"second_order":[0],"stages":[3,1]}})",
     "cuda_ptx", 0, 2},
    {R"({"op":"batch_matmul","batch":1,"m":40,"n":35,"k":32,"dtype":"float16"})",
     R"({"sketch":"gpu_wmma_f16","knobs":{"rows":[2,1],"columns":[1,2],"step":[16],"stages":[1,0],
         "first_order":[1],"second_order":[0]}})",
     "cuda_ptx"},
    {R"({"op":"batch_matmul","batch":1,"m":40,"n":35,"k":32,"allow_tf32":true})",
     R"({"sketch":"gpu_wmma_tf32","knobs":{"rows":[2,1],"columns":[1,2],"step":[16],"stages":[1,0],
         "first_order":[1],"second_order":[0]}})",
     "cuda_ptx"},
    // Every thread makes the row's values alike, and none reads what it has not written itself; the
    // largest of the row only keeps exponents small.
    {R"({"op":"softmax","batch":3,"features":150})",
     R"({"sketch":"gpu_rows","knobs":{"threads":[64],"unroll":[1]}})", "opencl_c", 1, 0, 3, 1},
    {R"({"op":"elementwise","function":"add","shape":[7,9],"shape_b":[9]})",
     R"({"sketch":"gpu_spatial","knobs":{"threads":[32],"elements":[1],"rows":[1]}})"},
};

space::GpuTarget target(const std::string& backend = "opencl_c") {
  space::GpuTarget t;
  t.backend = backend;
  if (backend == "cuda_ptx") t.sm = 80, t.driver = 1205;
  return t;
}

// Both ways of noticing; each may be missing here.
struct Drivers {
  std::optional<OpenClRun> device;
  std::optional<Oclgrind> oclgrind;

  Drivers() {
    if (test::why_no_opencl().empty()) {
      if (auto opened = OpenClRun::open()) device.emplace(std::move(*opened));
    }
    if (auto opened = Oclgrind::open()) oclgrind.emplace(std::move(*opened));
  }
  // "": it looks right.
  std::string noticed(const ir::Module& module, const space::ExpectedTensor& expected) {
    auto program = backend::opencl_c::make_program(module, target());
    if (!program) return "refused: " + program.error().text();  // a barrier out of place
    if (device) {
      const auto buffers = device->run(*program);
      if (!buffers) return buffers.error().text();
      const std::string wrong = property::wrong_output(*program, *buffers, expected);
      if (!wrong.empty()) return wrong;
    }
    if (!oclgrind) return "";
    const auto buffers = oclgrind->run(*program);
    const std::string complaints = oclgrind->complaints();
    if (!buffers) return buffers.error().text();
    if (!complaints.empty()) return complaints;
    return property::wrong_output(*program, *buffers, expected);
  }
};

TEST(GpuMutations, EachIsCaught) {
  Drivers drivers;
  std::map<std::string, int> made;
  int unseen = 0;
  for (const Case& each : kCases) {
    const auto workload = space::Workload::parse(nlohmann::json::parse(each.workload));
    ASSERT_TRUE(workload) << each.workload;
    const auto task = space::open_gpu_space(workload->dag(), target(each.backend));
    ASSERT_TRUE(task);
    const auto configuration = task->space().parse(each.configuration);
    ASSERT_TRUE(configuration) << configuration.error().text();
    const auto module = lower::lower_gpu_configuration(*task, *configuration);
    ASSERT_TRUE(module) << module.error().text();
    auto evaluated = space::evaluate(workload->dag());
    ASSERT_TRUE(evaluated);
    space::ExpectedTensor& expected = evaluated->front();
    expected.tolerance.absolute *= task->error_growth(*configuration);
    ASSERT_EQ(property::difference(*module, expected, 1), "") << ir::print(*module);
    const bool runs = each.backend == target().backend;
    if (runs) {
      ASSERT_EQ(drivers.noticed(*module, expected), "") << ir::print(*module);
    }
    for (int kind = 0; kind < int(GpuMistake::Count); ++kind) {
      const auto mistake = GpuMistake(kind);
      int interpreted = 0, ran = 0;
      std::string missed;
      for (int place = 0; place < places(*module, mistake); ++place) {
        const ir::Module wrong = mutated(*module, mistake, place);
        ++made[name_of(mistake)];
        if (property::difference(wrong, expected, 1).empty()) {
          ++interpreted, missed += ir::print(wrong);
        }
        if (runs && drivers.noticed(wrong, expected).empty()) {
          ++ran, missed += *backend::opencl_c::make_source(wrong, target());
        }
      }
      const bool barrier = mistake == GpuMistake::DroppedBarrier;
      const int harmless = mistake == GpuMistake::WideGuard     ? each.harmless_guards
                           : mistake == GpuMistake::NarrowGuard ? each.harmless_narrow
                                                                : 0;
      EXPECT_EQ(interpreted, barrier ? each.harmless_barriers : harmless)
          << each.workload << name_of(mistake) << missed;
      if (drivers.device && drivers.oclgrind) {
        EXPECT_LE(ran, barrier ? each.unseen_barriers : each.unseen_guards)
            << each.workload << name_of(mistake) << missed;
        unseen += ran;
      }
    }
  }
  for (const auto& [name, count] : made) std::printf("%s: %d\n", name.c_str(), count);
  std::printf("%d of them no driver shows\n", unseen);
  EXPECT_EQ(made.size(), std::size_t(GpuMistake::Count));
  if (!drivers.device) std::printf("%s\n", test::why_no_opencl().c_str());
  if (!drivers.oclgrind) std::printf("no Oclgrind here\n");
}

}  // namespace
}  // namespace fettle::testing
