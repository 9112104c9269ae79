// Roles of axes, and that sketches follow them: what stages and axes are called changes nothing.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "host/ir/loads.h"
#include "host/ir/printer.h"
#include "host/lower/cpu/lowering.h"
#include "host/space/axis_roles.h"
#include "host/space/sketches/sketches.h"
#include "host/space/sketches/tiled_shape.h"
#include "host/space/workload.h"

namespace fettle::space {
namespace {

const CpuTarget kAvx512{
    "x86_64", "x86_64-linux-gnu", "x86-64-v4", {"+avx512vl", "+avx512vnni", "+f16c"}, 512, 32, true,
    2};

ComputeDag dag_of(const char* json) {
  auto workload = Workload::parse(std::string(json));
  EXPECT_TRUE(workload) << workload.error().text();
  return workload->dag();
}

const Stage& reduction_of(const ComputeDag& dag) {
  for (const Stage& stage : dag.stages) {
    if (!stage.reduce_axes.empty()) return stage;
  }
  std::abort();
}

// One letter per axis: Batch, Spatial, Channel; Window, contraction (K).
std::string letters(const std::vector<AxisRole>& roles) {
  std::string text;
  for (const AxisRole role : roles) text += "BSCWK"[int(role)];
  return text;
}

TEST(AxisRoles, AreReadOffTheLoads) {
  const auto roles = [](const char* json) {
    const ComputeDag dag = dag_of(json);
    const auto found = roles_of(dag, reduction_of(dag));
    return found ? letters(found->axes) + " " + letters(found->reduce_axes) : "none";
  };
  EXPECT_EQ(roles(R"({"op":"conv2d","height":8,"width":8,"in_channels":4,"out_channels":8,
                      "kernel":[3,3],"pad":[1,1]})"),
            "SSSC WWK");
  EXPECT_EQ(roles(R"({"op":"conv2d","layout":"NCHW","height":8,"width":8,"in_channels":4,
                      "out_channels":8,"kernel":[3,3]})"),
            "SCSS KWW");
  EXPECT_EQ(roles(R"({"op":"conv2d","height":8,"width":8,"in_channels":8,"out_channels":8,
                      "kernel":[3,3],"groups":2})"),
            "SSSBC WWK");
  EXPECT_EQ(roles(R"({"op":"depthwise_conv2d","height":8,"width":8,"channels":4,"kernel":[3,3]})"),
            "SSSB WW");
  EXPECT_EQ(roles(R"({"op":"conv3d","depth":4,"height":8,"width":8,"in_channels":4,
                      "out_channels":8,"kernel":[1,3,3]})"),
            "SSSSC WWWK");
  EXPECT_EQ(roles(R"({"op":"batch_matmul","batch":2,"m":4,"n":8,"k":3})"), "BSC K");
  EXPECT_EQ(roles(R"({"op":"dense","in_features":4,"out_features":8})"), "SC K");
  EXPECT_EQ(roles(R"({"op":"max_pool2d","height":8,"width":8,"channels":4,"kernel":[3,3]})"),
            "SSSS WW");
}

TEST(AxisRoles, WindowsHaveStridesAndDilations) {
  const ComputeDag dag = dag_of(R"({"op":"conv2d","height":9,"width":9,"in_channels":4,
      "out_channels":8,"kernel":[3,2],"stride":[1,2],"dilation":[3,1],"pad":[2,0]})");
  const Stage& sum = reduction_of(dag);
  const auto roles = roles_of(dag, sum);
  ASSERT_TRUE(roles);
  ASSERT_EQ(roles->windows.size(), 2u);
  const WindowPair &y = roles->windows[0], &x = roles->windows[1];
  EXPECT_EQ(std::vector({y.axis, y.window, x.axis, x.window}),
            (std::vector<std::size_t>{1, 0, 2, 1}));
  EXPECT_EQ(std::vector({y.stride, y.dilation, x.stride, x.dilation}),
            (std::vector<std::int64_t>{1, 3, 2, 1}));
  ASSERT_TRUE(copy_read_by(dag, sum));
  EXPECT_EQ(copy_read_by(dag, sum)->buffer, roles->first->buffer);
}

TEST(AxisRoles, ACopyIsKnownByWhatItIs) {
  const ComputeDag none = dag_of(R"({"op":"conv2d","height":8,"width":8,"in_channels":4,
      "out_channels":8,"kernel":[3,3],"tail":["bias","relu"]})");
  EXPECT_FALSE(copy_read_by(none, reduction_of(none)));
  // With another value than 0 around it.
  const ComputeDag pool =
      dag_of(R"({"op":"max_pool2d","height":8,"width":8,"channels":4,"kernel":[3,3],"pad":[1,1]})");
  EXPECT_TRUE(copy_read_by(pool, reduction_of(pool)));
  // What is made of constants is no copy of an input.
  const ComputeDag transposed = dag_of(R"({"op":"conv2d_transpose","height":4,"width":4,
      "in_channels":4,"out_channels":8,"kernel":[1,1]})");
  EXPECT_FALSE(copy_read_by(transposed, reduction_of(transposed)));
}

// The same DAG where every stage, tensor and axis is called otherwise.
ComputeDag renamed(ComputeDag dag) {
  int number = 0;
  const auto fresh = [&] { return "q" + std::to_string(++number); };
  for (Stage& stage : dag.stages) {
    const ir::Buffer old = stage.buffer;
    ir::BufferDecl decl = *old;
    decl.name = stage.name = fresh();
    stage.buffer = std::make_shared<const ir::BufferDecl>(std::move(decl));
    for (Stage& reader : dag.stages) {
      if (!reader.body) continue;
      reader.body = ir::replace_loads(reader.body, old, [&](const ir::Load& load) {
        return ir::load(stage.buffer, load.indices, load.predicate);
      });
    }
    for (auto* axes : {&stage.axes, &stage.reduce_axes}) {
      for (Axis& axis : *axes) axis.name = fresh();
    }
  }
  return dag;
}

// The functions, each with identifiers by their first places in it.
std::string without_names(const std::string& text) {
  std::map<std::string, int> known;
  std::string out, word;
  for (const char c : text + "\n") {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.') {
      word += c == '_' ? '.' : c;  // of functions, where stages have a dot
      continue;
    }
    if (!word.empty() && std::isdigit(static_cast<unsigned char>(word[0]))) {
      out += word;
    } else if (!word.empty()) {
      out += "$" + std::to_string(known.emplace(word, int(known.size())).first->second);
    }
    word.clear();
    out += c;
  }
  return out;
}

std::string without_names(const ir::Module& module) {
  std::string out;
  for (const ir::Function& function : module.functions) {
    ir::Module one;
    one.functions.push_back(function);
    out += without_names(ir::print(one));
  }
  return out;
}

TEST(Sketches, NamesOfStagesAndAxesChangeNothing) {
  const char* const workloads[] = {
      R"({"op":"conv2d","height":8,"width":8,"in_channels":8,"out_channels":16,"kernel":[3,3],
          "pad":[1,1],"tail":["bias","add","relu"]})",
      R"({"op":"conv2d","height":6,"width":6,"in_channels":6,"out_channels":16,"kernel":[3,1],
          "pad":[1,0],"dtype":"int8","tail":["bias"]})",
      R"({"op":"conv2d","height":6,"width":6,"in_channels":32,"out_channels":32,"kernel":[3,3],
          "pad":[1,1],"groups":8,"tail":["bias"]})",
      R"({"op":"conv3d","depth":3,"height":6,"width":6,"in_channels":4,"out_channels":16,
          "kernel":[2,3,3],"pad":[1,1,1]})",
      R"({"op":"dense","batch":4,"in_features":24,"out_features":48,"tail":["bias"]})",
      R"({"op":"batch_matmul","batch":3,"m":8,"n":32,"k":12})",
      R"({"op":"depthwise_conv2d","height":8,"width":8,"channels":16,"kernel":[3,3],"pad":[1,1]})",
      R"({"op":"max_pool2d","height":8,"width":8,"channels":16,"kernel":[3,3],"pad":[1,1]})",
      R"({"op":"conv2d_transpose","height":4,"width":4,"in_channels":4,"out_channels":8,
          "kernel":[3,3],"stride":[2,2]})",
      R"({"op":"conv2d","layout":"NCHW","height":8,"width":8,"in_channels":8,"out_channels":16,
          "kernel":[3,3],"pad":[1,1],"tail":["bias"]})",
      R"({"op":"dense","in_features":600,"out_features":5,"tail":["bias"]})",
      R"({"op":"softmax","batch":4,"features":40,"tail":["bias"]})",
      R"({"op":"layer_norm","batch":4,"features":48})",
      R"({"op":"reduce","function":"mean","shape":[6,700],"axes":[1]})"};
  std::mt19937_64 rng(3);
  for (const char* json : workloads) {
    const auto plain = open_cpu_space(dag_of(json), kAvx512),
               other = open_cpu_space(renamed(dag_of(json)), kAvx512);
    ASSERT_TRUE(plain && other) << json;
    int compared = 0;
    for (int i = 0; i < 16; ++i) {
      const Configuration c = plain->space().random(rng);
      const auto same = other->space().parse(plain->space().to_json(c));
      ASSERT_TRUE(same) << json << ": " << same.error().text();
      const auto a = lower::lower_configuration(*plain, c),
                 b = lower::lower_configuration(*other, *same);
      ASSERT_TRUE(a && b) << json << " " << plain->space().to_json(c);
      ASSERT_EQ(without_names(*a), without_names(*b)) << json << " " << plain->space().to_json(c);
      ++compared;
    }
    EXPECT_GT(compared, 2) << json;
  }
}

std::vector<std::string> sketches_of(const char* json, const CpuTarget& target) {
  std::vector<std::string> names;
  const auto task = open_cpu_space(dag_of(json), target);
  if (!task) return names;
  for (const Sketch& sketch : task->space().sketches()) names.push_back(sketch.name);
  return names;
}

TEST(Sketches, RecordsOfBeforeHaveTheirSketch) {
  const std::vector<std::string> both{"cpu_tiled", "cpu_spatial"};
  EXPECT_EQ(sketches_of(R"({"op":"conv3d","depth":3,"height":6,"width":6,"in_channels":4,
                            "out_channels":16,"kernel":[2,3,3]})",
                        kAvx512),
            both);
  EXPECT_EQ(sketches_of(R"({"op":"batch_matmul","batch":3,"m":8,"n":32,"k":12})", kAvx512), both);
}

// A task's copy of the input begins at a multiple of its tiles: 5 groups of 2 have none of a
// whole vector of 4 that does not overlap.
TEST(Sketches, TilesOverGroupsDoNotOverlap) {
  const char* const five = R"({"op":"conv2d","height":4,"width":4,"in_channels":60,
      "out_channels":10,"groups":5,"kernel":[1,3],"pad":[2,1]})";
  EXPECT_EQ(sketches_of(five, kAvx512), (std::vector<std::string>{"cpu_tiled", "cpu_spatial"}));
  const char* const eight = R"({"op":"conv2d","height":4,"width":4,"in_channels":24,
      "out_channels":48,"groups":24,"kernel":[1,3],"pad":[2,1]})";
  const auto task = open_cpu_space(dag_of(eight), kAvx512);
  ASSERT_TRUE(task);
  const Sketch& sketch = task->space().sketches()[1];
  ASSERT_EQ(sketch.name, "cpu_tiled_groups");
  for (const auto& tile : sketch.knobs[0].options) EXPECT_EQ(48 % (tile[2] * tile[3]), 0);
}

// On NEON a group of four is a vector: its factor is one element, broadcast.
TEST(Sketches, VectorsSpanGroupsOnlyWhereSeveralFit) {
  CpuTarget neon{"aarch64", "aarch64-linux-gnu", "cortex-a72", {}, 128, 32, true, 1};
  const char* const fours = R"({"op":"conv2d","height":4,"width":4,"in_channels":32,
      "out_channels":32,"groups":8,"kernel":[3,3],"pad":[1,1]})";
  EXPECT_EQ(sketches_of(fours, neon), (std::vector<std::string>{"cpu_tiled", "cpu_spatial"}));
  EXPECT_EQ(sketches_of(fours, kAvx512),
            (std::vector<std::string>{"cpu_tiled", "cpu_tiled_groups", "cpu_spatial"}));
}

// Option 0 of `unroll` is the program that three knobs make together, whatever two of them say.
TEST(Sketches, AGroupsWholeSumIsUnrolledByOneOption) {
  const auto task = open_cpu_space(dag_of(R"({"op":"conv2d","height":4,"width":12,
      "in_channels":32,"out_channels":32,"groups":4,"kernel":[3,3],"pad":[1,1]})"),
                                   kAvx512);
  ASSERT_TRUE(task);
  const auto lowered = [&](const char* reduction) {
    const auto c = task->space().parse(std::string(R"({"sketch":"cpu_tiled_groups","knobs":{
        "register_tile":[1,12,1,16],"task_y":[0],"task_x":[0],"task_oc":[0],"task_order":[0],
        "tile_order":[0],"reduce_inside":[0],"pad":[0],"skip":[0],)") +
                                       reduction + "}}");
    EXPECT_TRUE(c) << c.error().text();
    const auto module = lower::lower_configuration(*task, *c);
    EXPECT_TRUE(module) << module.error().text();
    return without_names(*module);
  };
  const std::string whole = lowered(R"("reduce_inner":[1],"reduce_order":[1],"unroll":[1024])");
  EXPECT_EQ(lowered(R"("reduce_inner":[4],"reduce_order":[0],"unroll":[0])"), whole);
  EXPECT_EQ(lowered(R"("reduce_inner":[1],"reduce_order":[2],"unroll":[0])"), whole);
  EXPECT_NE(lowered(R"("reduce_inner":[4],"reduce_order":[0],"unroll":[1024])"), whole);
}

}  // namespace
}  // namespace fettle::space
