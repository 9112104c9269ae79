// A user's kernel from its TOML and source to a workload: what is read, and each mistake as one
// line that names file and line.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "host/model/kernel_file.h"
#include "host/model/source_text.h"
#include "host/model/toml_text.h"
#include "host/space/own_kernel/kernel_space.h"
#include "tests/support/kernel_sample.h"

namespace fettle::model {
namespace {

using testing::KernelSample;

space::Target any_device() {
  return space::Target::parse(R"({"backend":"opencl_c","threads_per_block":48})").value();
}

space::Workload workload_of(const KernelSample& sample) {
  auto list = load_kernel(sample.file());
  EXPECT_TRUE(list.ok()) << (list ? "" : list.error().text());
  return list ? list->tasks.front().workload : space::Workload();
}

TEST(KernelFile, SaysAllThatIsStated) {
  const KernelSample sample;
  const auto list = load_kernel(sample.file());
  ASSERT_TRUE(list.ok()) << list.error().text();
  EXPECT_EQ(list->folder + "/twice.cl", sample.file());
  const space::Workload& workload = list->tasks.at(0).workload;
  EXPECT_EQ(workload.title(), "twice 1024");
  EXPECT_EQ(workload.operations(), 1024);
  EXPECT_EQ(workload.kind(), "kernel");
  EXPECT_EQ(workload.scalar(), ir::Scalar::Float32);
  ASSERT_NE(workload.kernel(), nullptr);
  const space::OwnKernel& kernel = *workload.kernel();
  EXPECT_EQ(kernel.language, space::KernelLanguage::OpenClC);
  ASSERT_EQ(kernel.arguments.size(), 3u);
  EXPECT_EQ(kernel.arguments[1].role, ir::Role::Output);
  EXPECT_EQ(kernel.arguments[0].fill.kind, ir::Fill::Kind::UniformReal);
  EXPECT_EQ(kernel.arguments[2].value, "2.0");
  EXPECT_EQ(kernel.reference.entry, "plainly");
}

// What KTT says of its space: 5,788 points.
TEST(KernelFile, KttsSpaceHasKttsPoints) {
  const auto list = load_kernel(FETTLE_TEST_DATA "/kernels/ktt_gemm.cl");
  ASSERT_TRUE(list.ok()) << list.error().text();
  const auto wide = space::Target::parse(R"({"backend":"opencl_c","threads_per_block":1024})");
  const auto opened = space::KernelSpace::open(*list->tasks.at(0).workload.kernel(), wide.value());
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  std::size_t points = 0;
  for (std::uint64_t i = 0; i < opened->space().size(); ++i) {
    points += opened->space().contains(opened->space().at(i));
  }
  EXPECT_EQ(points, 5788u);
}

TEST(KernelFile, AKernelMayBeTheReference) {
  const KernelSample sample;
  sample.change("file = \"twice_reference.c\"\nfunction = \"plainly\"",
                "file = \"twice.cl\"\nfunction = \"twice\"\nblocks = [\"N / 4\"]\nthreads = [4]");
  const space::Workload workload = workload_of(sample);
  ASSERT_NE(workload.kernel(), nullptr);
  EXPECT_EQ(workload.kernel()->reference.kind, space::KernelReference::Kind::Kernel);
  EXPECT_EQ(space::Workload::parse(workload.canonical()).value().canonical(), workload.canonical());
  const auto space = space::KernelSpace::open(*workload.kernel(), any_device());
  const auto four =
      space->space().parse(R"({"sketch":"twice","knobs":{"EACH":[4],"THREADS":[64]}})");
  const auto alone = space::reference_kernel(*workload.kernel(), space->space(), *four);
  const auto stated = space::Workload::of(alone);
  ASSERT_TRUE(stated.ok());
  const auto again = space::Workload::parse(stated->canonical());
  ASSERT_TRUE(again.ok()) << again.error().text();
  const auto opened = space::KernelSpace::open(*again->kernel(), any_device());
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  EXPECT_EQ(opened->space().size(), 1);
  const auto point = opened->point(opened->space().at(0));
  EXPECT_EQ(point->launches.at(0).blocks[0], 256);
  EXPECT_EQ(point->launches.at(0).threads[0], 4);
}

// Build workers and records get the key alone.
TEST(KernelFile, TheKeyHoldsAllOfIt) {
  const KernelSample sample;
  const space::Workload workload = workload_of(sample);
  const auto again = space::Workload::parse(workload.canonical());
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->canonical(), workload.canonical());
  EXPECT_EQ(again->hash(), workload.hash());
  EXPECT_EQ(again->title(), workload.title());
  EXPECT_EQ(again->kernel()->source.text, workload.kernel()->source.text);

  sample.change("twice 1024", "another title");
  EXPECT_EQ(workload_of(sample).hash(), workload.hash());
  sample.change("EACH = [1, 2, 3, 4]", "EACH = [1, 2, 3]");
  EXPECT_NE(workload_of(sample).hash(), workload.hash());
  sample.change("", "");
  sample.write("twice.cl", std::string(testing::kSampleOpenCl) + "// changed\n");
  EXPECT_NE(workload_of(sample).hash(), workload.hash());
}

struct Mistake {
  const char *from, *to;  // in the TOML
  const char* said;       // after the file's name
};

TEST(KernelFile, EachMistakeIsOneLineThatNamesItsPlace) {
  const Mistake mistakes[] = {
      {"title = ", "tilte = ", ":1: unknown key \"tilte\"; there are: argument, constants"},
      {"operations = \"N\"", "operations = \"N *\"", ":2: the expression ends early"},
      {"THREADS * EACH <= N", "THREADS * EACHES <= N", ":4: nothing here is called \"EACHES\""},
      {"EACH != 3", "EACH + 3", ":5: \"EACH + 3\" is no condition"},
      {"N = 1024", "N = 1.5", ":9: N must be a whole number"},
      {"N = 1024", "N = 1é", ":9: a character beyond ASCII, outside of texts and comments"},
      {"EACH = [1, 2, 3, 4]", "EACH = []", ":12: knob EACH has no values"},
      {"EACH = [1, 2, 3, 4]", "EACH = 4", ":12: knob EACH has no values"},
      {"EACH = [1, 2, 3, 4]", "EACH = [1, \"x\"]", ":12: knob EACH: \"x\" is no whole number"},
      {"EACH = [1, 2, 3, 4]", "EACH = [1, 2, 1]", ":12: knob EACH has a value twice"},
      {"THREADS = [16, 64]", "N = [16, 64]", ":13: \"N\" is there twice"},
      {"type = \"float32\"", "type = \"float\"", ":17: \"float\" is no type; there are: int8"},
      {"shape = [\"N\"]", "shape = [\"N - N\"]", ":18: from: an axis \"N - N\" of 0 elements"},
      {"shape = [\"N\"]", "shape = [\"N * N * N * N\"]", "does not fit: an argument has 1 to 429"},
      {"shape = [\"N\"]", "shape = [\"EACH\"]", ":18: nothing here is called \"EACH\""},
      {"shape = [\"N\"]", "shape = [\"N\"]\nsize = 3", ":19: unknown key \"size\""},
      {"shape = [\"N\"]", "", ":15: from has neither a shape nor a value"},
      {"shape = [\"N\"]", "shape = [\"N\"]\nfill = { low = 2, high = 1 }", ":19: fill's low is"},
      {"role = \"output\"", "role = \"result\"", ":24: \"result\" is no role"},
      {"role = \"output\"", "", "no argument has role = \"output\""},
      {"name = \"to\"", "name = \"from\"", ":21: two arguments are named from"},
      {"value = 2.0", "value = \"FACTOR\"", ""},  // told when it is opened: it may be the device's
      {"entry = \"twice\"", "entry = \"thrice\"", ":32: no \"thrice\" in twice.cl"},
      {"blocks = [\"N / (THREADS * EACH)\"]", "blocks = [\"N / (THREADS * EACH)\", 1, 1, 1]",
       ":33: blocks must be a list of one to three"},
      {"threads = [\"THREADS\"]", "threads = [\"THREDS\"]", ":34: nothing here is called"},
      {"threads = [\"THREADS\"]", "", ":31: threads must be a list of one to three"},
      {"threads = [\"THREADS\"]", "parallel = 4", ":34: unknown key \"parallel\""},
      {"file = \"twice_reference.c\"", "file = \"none.c\"", ":37: cannot read "},
      {"file = \"twice_reference.c\"", "file = \"twice.exe\"",
       ":37: \"twice.exe\" is no reference"},
      {"file = \"twice_reference.c\"", "files = [\"a.npy\"]", ":37: cannot read "},
      {"function = \"plainly\"", "function = \"plain\"\nabsolute = -1", ":39: absolute must be a"},
      {"function = \"plainly\"", "function = \"nothing\"", ":38: no \"nothing\" in twice_ref"},
      {"file = \"twice_reference.c\"", "file = \"twice.cl\"\nthreads = [1]",
       ": a kernel as the reference has blocks, a list"},
      {"function = \"plainly\"", "function = \"plainly\"\nthreads = [1]",
       "threads are of a kernel as the reference"},
      {"[reference]", "[referenz]", ": unknown key \"referenz\""},
      {"[knobs]", "[knobs", ":11: "},  // TOML's own
  };
  for (const Mistake& mistake : mistakes) {
    const KernelSample sample;
    sample.change(mistake.from, mistake.to);
    const auto list = load_kernel(sample.file());
    if (*mistake.said == 0) {
      EXPECT_TRUE(list.ok()) << mistake.to;
      continue;
    }
    ASSERT_FALSE(list.ok()) << mistake.to;
    const std::string said = list.error().text();
    EXPECT_TRUE(said.starts_with(sample.file("twice.toml") + ":")) << said;
    EXPECT_NE(said.find(mistake.said), std::string::npos) << mistake.to << "\n" << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
}

// Found by fuzzing: toml++ reached what it calls unreachable.
TEST(TomlText, CharactersBeyondAsciiStandInTextsAndComments) {
  for (const char* good :
       {"a = 'é' # é\nb = \"é\"\nc = '''é\né'''\n",
        "\xEF\xBB\xBF"
        "a = 1",
        "a.\"é\" = 1", "[a.'é']", "a = {b.\"é\" = \"é\", 'é'=[\"é\"], c = 1} # é",
        "a = [\n\"é\",'é' ]\n\"é\" = 2", "a = [{b='é'}, {'é' = 1}]", "a = \"\\\" é\"",
        "a = \"\"\"x \\\n  y é\"\"\"\"\" # é", "a = '\\' # é", "# é"}) {
    EXPECT_EQ(misplaced_character(good), std::nullopt) << good;
  }
  const std::pair<const char*, std::size_t> wrong[] = {
      {"N = 1é", 5},           {"é = 1", 0},         {"a = 'x' é", 8},
      {"a = \"x\né\"", 7},     {"a = \"\\é\"", 6},   {"a = \"\"\"x \\\n é\"\"\"", 12},
      {"a = '''x''''' é", 14}, {"N = 1\"é\"", 6},    {"N = 1[\"é\"", 7},
      {"N = 1.\"é\"", 7},      {"N = [1=\"é\"]", 8}, {"N = \"a\"\"é\"", 8},
      {"N = [\n1.'é'", 9},     {"N = {a=1.'é'}", 10}};
  for (const auto& [toml, at] : wrong) EXPECT_EQ(misplaced_character(toml), at) << toml;
}

TEST(KernelFile, AMissingFileIsNamed) {
  const KernelSample sample;
  EXPECT_NE(load_kernel(sample.file("none.cl")).error().text().find("there is no file"),
            std::string::npos);
  sample.write("alone.cl", testing::kSampleOpenCl);
  const std::string said = load_kernel(sample.file("alone.cl")).error().text();
  EXPECT_NE(said.find("alone.toml beside it"), std::string::npos) << said;
}

// One source, several sizes: a TOML that names it.
TEST(KernelFile, ATomlMayNameItsSource) {
  const KernelSample sample;
  sample.write("large.toml", "file = \"twice.cl\"\n" + std::string(testing::kSampleToml));
  const auto list = load_kernel(sample.file("large.toml"));
  ASSERT_TRUE(list.ok()) << list.error().text();
  EXPECT_EQ(list->tasks[0].workload.kernel()->source.file, "twice.cl");
  EXPECT_TRUE(load_kernel(sample.file("twice.toml")).ok()) << "named alike";
}

TEST(KernelFile, IncludedFilesBecomeAPartOfIt) {
  const KernelSample sample;
  sample.write("one.h", "#pragma once\nfloat one();\n");
  sample.write("both.h", "#include \"one.h\"\n#include \"one.h\"\n#include \"absent.h\"\n");
  sample.write("twice.cl", "#include \"both.h\"\nlast\n");
  const auto text = source_text(sample.file("twice.cl"));
  ASSERT_TRUE(text.ok()) << text.error().text();
  EXPECT_EQ(*text,
            "#line 1 \"both.h\"\n#line 1 \"one.h\"\n\nfloat one();\n#line 2 \"both.h\"\n"
            "#line 1 \"one.h\"\n#line 3 \"both.h\"\n#include \"absent.h\"\n"
            "#line 2 \"twice.cl\"\nlast\n");
  sample.write("again.h", "#include \"again.h\"\n");
  EXPECT_NE(source_text(sample.file("again.h")).error().text().find("within itself"),
            std::string::npos);
}

TEST(KernelSpace, HoldsWhatConstraintsLeave) {
  const KernelSample sample;
  const auto space = space::KernelSpace::open(*workload_of(sample).kernel(), any_device());
  ASSERT_TRUE(space.ok()) << space.error().text();
  int points = 0;
  for (std::uint64_t i = 0; double(i) < space->space().size(); ++i) {
    points += space->space().contains(space->space().at(i));
  }
  EXPECT_EQ(points, 6);
  const auto refused =
      space->space().parse(R"({"sketch":"twice","knobs":{"EACH":[3],"THREADS":[16]}})");
  EXPECT_NE(refused.error().message.find("\"EACH != 3\" between EACH"), std::string::npos);
}

TEST(KernelSpace, EvaluatesAPoint) {
  const KernelSample sample;
  const auto space = space::KernelSpace::open(*workload_of(sample).kernel(), any_device());
  const auto four =
      space->space().parse(R"({"sketch":"twice","knobs":{"EACH":[4],"THREADS":[64]}})");
  const auto point = space->point(*four);
  ASSERT_TRUE(point.ok()) << point.error().text();
  EXPECT_EQ(point->launches[0].blocks[0], 4);
  EXPECT_EQ(point->launches[0].threads[0], 64);
  EXPECT_EQ(point->buffers[1].bytes, 4096u);
  EXPECT_EQ(point->scalars[2], 2.0);
  const std::string text = space::text_with_defines({"twice.cl", "text\n"}, point->defines);
  EXPECT_EQ(text,
            "#define N 1024\n#define EACH 4\n#define THREADS 64\n#line 1 \"twice.cl\"\ntext\n");
}

TEST(KernelSpace, KnowsTheDevicesFigures) {
  const KernelSample sample;
  sample.change("EACH != 3", "THREADS <= device.threads_per_block");
  const auto space = space::KernelSpace::open(*workload_of(sample).kernel(), any_device());
  ASSERT_TRUE(space.ok()) << space.error().text();
  EXPECT_FALSE(space->space().parse(R"({"sketch":"twice","knobs":{"EACH":[1],"THREADS":[64]}})"));
  EXPECT_TRUE(space->space().parse(R"({"sketch":"twice","knobs":{"EACH":[3],"THREADS":[16]}})"));
  sample.change("EACH != 3", "THREADS <= device.warps");
  const auto unknown = space::KernelSpace::open(*workload_of(sample).kernel(), any_device());
  EXPECT_NE(unknown.error().text().find("\"device.warps\""), std::string::npos);
}

TEST(KernelSpace, ConstraintsThatLeaveNothingAreAMistake) {
  const KernelSample sample;
  sample.change("EACH != 3", "EACH > 4");
  const auto none = space::KernelSpace::open(*workload_of(sample).kernel(), any_device());
  EXPECT_EQ(none.error().text(), "the constraints leave no configuration");
}

TEST(KernelSpace, APointThatCannotBeLaunchedIsABuildError) {
  const KernelSample sample;
  sample.change("blocks = [\"N / (THREADS * EACH)\"]", "blocks = [\"2 - EACH\"]");
  const auto space = space::KernelSpace::open(*workload_of(sample).kernel(), any_device());
  ASSERT_TRUE(space.ok()) << space.error().text();
  const auto two =
      space->space().parse(R"({"sketch":"twice","knobs":{"EACH":[2],"THREADS":[64]}})");
  const auto point = space->point(*two);
  EXPECT_EQ(point.error().code, ErrorCode::BuildError);
  EXPECT_EQ(point.error().message, "\"2 - EACH\" gives 0 blocks");
}

TEST(KernelExpressions, AreWholeNumbersAndConditions) {
  const space::KernelValues values = {{"M", 100}, {"T", 16}, {"Z", 0}};
  EXPECT_EQ(space::evaluate_integer("(M + T - 1) / T * 2 - 1", values).value(), 13);
  EXPECT_EQ(space::evaluate_integer("max(M % T, select(T > 8, 5, 1))", values).value(), 5);
  EXPECT_EQ(space::evaluate_integer("M * M * M * M * M", values).value(), 10'000'000'000);
  EXPECT_TRUE(space::evaluate_condition("M % T != 0 && !(T == 1) || Z > 0", values).value());
  EXPECT_FALSE(space::evaluate_integer("M / Z", values));
  EXPECT_FALSE(space::evaluate_integer("M == T", values));
  EXPECT_FALSE(space::evaluate_condition("M", values));
  EXPECT_FALSE(space::evaluate_condition("M < 1.5", values));
}

}  // namespace
}  // namespace fettle::model
