// The IR of two configurations, before and after lowering, against files.
// `golden_ir --update-golden` writes them anew.
#include <gtest/gtest.h>

#include "host/ir/printer.h"
#include "host/lower/cpu/lowering.h"
#include "host/space/sketches/sketches.h"
#include "host/space/workload.h"
#include "tests/golden/golden_file.h"

namespace {

// Each configuration sets some knobs of a sketch by name; the others take their first option.
void check(const std::string& name, const char* workload_json,
           const fettle::space::CpuTarget& target,
           const std::map<std::string, std::vector<std::int64_t>>& knobs,
           std::uint32_t sketch = 0) {
  using namespace fettle;
  const auto workload = space::Workload::parse(std::string(workload_json));
  ASSERT_TRUE(workload) << workload.error().text();
  const auto task = space::open_cpu_space(workload->dag(), target);
  ASSERT_TRUE(task);
  const space::SearchSpace* space = &task->space();
  ASSERT_LT(sketch, space->sketches().size());
  const auto& list = space->sketches()[sketch].knobs;
  space::Configuration configuration{sketch, std::vector<std::uint32_t>(list.size(), 0)};
  std::size_t found = 0;
  for (std::size_t k = 0; k < list.size(); ++k) {
    const auto wanted = knobs.find(list[k].name);
    if (wanted == knobs.end()) continue;
    for (std::uint32_t o = 0; o < list[k].options.size(); ++o) {
      if (list[k].options[o] == wanted->second) configuration.choice[k] = o, ++found;
    }
  }
  ASSERT_EQ(found, knobs.size()) << "a knob or option of the test is gone";
  std::string text = space->to_json(configuration) + "\n";
  const auto schedule = task->schedule(configuration);
  ASSERT_TRUE(schedule);
  for (const auto& step : schedule->steps()) text += to_string(step) + "\n";
  const auto module = lower::lower_configuration(*task, configuration,
                                                 [&](const std::string& pass, const ir::Module& m) {
                                                   if (pass == "build_loops")
                                                     text += "\n--- build_loops\n" + ir::print(m);
                                                 });
  ASSERT_TRUE(module) << module.error().text();
  text += "\n--- lowered\n" + ir::print(*module);
  golden::expect(text, std::string(FETTLE_GOLDEN_DIR) + "/" + name + ".txt");
}

TEST(GoldenIr, PaddedConvolutionAvx2) {
  check(
      "conv2d_avx2",
      R"({"op":"conv2d","height":8,"width":8,"in_channels":4,"out_channels":16,"kernel":[3,3],"pad":[1,1],"tail":["bias","add","relu"]})",
      {"x86_64", "x86_64-linux-gnu", "haswell", {}, 256, 16, true, 1},
      {{"register_tile", {1, 4, 2, 8}}, {"task_y", {4}}, {"reduce_inner", {2}}, {"pad", {1}}});
}

TEST(GoldenIr, DenseNeonWithAnOverlappingTile) {
  check("dense_neon", R"({"op":"dense","in_features":12,"out_features":36,"tail":["bias"]})",
        {"armv7", "armv7-linux-gnueabihf", "cortex-a9", {}, 128, 16, false, 2},
        {{"register_tile", {1, 1, 5, 4}}, {"reduce_inner", {3}}});
}

TEST(GoldenIr, ChannelsFirstConvolutionWithChannelsLast) {
  check(
      "conv2d_nchw_neon",
      R"({"op":"conv2d","layout":"NCHW","height":4,"width":4,"in_channels":4,"out_channels":8,"kernel":[1,1],"tail":["bias","add"]})",
      {"aarch64", "aarch64-linux-gnu", "cortex-a72", {}, 128, 32, true, 2},
      {{"register_tile", {2, 4, 2, 4}}, {"reduce_inner", {4}}}, 1);
}

}  // namespace

int main(int argc, char** argv) { return fettle::golden::run(argc, argv); }
