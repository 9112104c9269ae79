// Users' kernels as tasks of back ends: what is built of them for OpenCL devices, NVIDIA's GPUs and
// CPUs, and what is said where that cannot be.
#include <gtest/gtest.h>
#include <cstdlib>

#include "host/backend/backend.h"
#include "host/backend/kernel_task.h"
#include "host/model/kernel_file.h"
#include "host/process/run_program.h"
#include "host/space/cpu_target.h"
#include "host/space/gpu_target.h"
#include "host/space/profile.h"
#include "schemas/wire/codec.h"
#include "tests/support/kernel_sample.h"

namespace fettle::backend {
namespace {

using testing::KernelSample;

constexpr const char* kCuda = R"(
template <int Each>
__device__ void store(float* to, const float* from, float factor, int at) {
  for (int i = 0; i < Each; ++i) to[at + i] = factor * from[at + i];
}
__global__ void twice(const float* from, float* to, float factor) {
  store<EACH>(to, from, factor, (blockIdx.x * blockDim.x + threadIdx.x) * EACH);
}
)";
constexpr const char* kPtx = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 from, .param .u64 to, .param .f32 factor)
{
  ret;
}
)";
constexpr const char* kC = R"(
void twice(const float* restrict from, float* restrict to, float factor, int begin, int end) {
  for (int i = begin * EACH; i < end * EACH; ++i) to[i] = factor * from[i];
}
)";

space::Target opencl_target() {
  space::GpuTarget target;
  target.backend = "opencl_c";
  target.memory_bytes = 1 << 20;
  return target.target();
}

space::Target cuda_target(int sm = 90, int driver = 1300) {
  space::GpuTarget target;
  target.backend = "cuda_ptx";
  target.sm = sm, target.driver = driver;
  return target.target();
}

space::Target cpu_target(const std::string& key, const std::string& arch) {
  const space::Profile* profile = space::find_profile(key, arch);
  EXPECT_NE(profile, nullptr);
  return target_for(space::device_of(*profile)).value();
}

class KernelTasks : public ::testing::Test {
 protected:
  // For C: the launch has no blocks.
  void use_c() {
    std::string text = testing::kSampleToml;
    const auto at = text.find("blocks = ");
    text.replace(at, text.find("\n\n[reference]") - at, "parallel = \"N / EACH\"");
    sample.write("twice.toml", text);
    sample.write("twice.c", kC);
  }
  Result<std::unique_ptr<const Task>> open(const std::string& file, const space::Target& target) {
    auto list = model::load_kernel(sample.file(file));
    EXPECT_TRUE(list.ok()) << (list ? "" : list.error().text());
    if (!list) return list.error();
    return open_task(list->tasks.front().workload, target);
  }
  Result<wire::BuildOutputT> built(const std::string& file, const space::Target& target,
                                   int each = 2) {
    auto task = open(file, target);
    if (!task) return task.error();
    const auto configuration = (*task)->space().parse(
        R"({"sketch":"twice","knobs":{"THREADS":[64],"EACH":[)" + std::to_string(each) + "]}}");
    EXPECT_TRUE(configuration.ok());
    return (*task)->build(*configuration);
  }
  KernelSample sample;
};

TEST_F(KernelTasks, OpenClGetsTheSourceWithItsDefines) {
  const auto output = built("twice.cl", opencl_target());
  ASSERT_TRUE(output.ok()) << output.error().text();
  const wire::ProgramT& program = *output->program;
  ASSERT_EQ(program.images.size(), 1u);
  const std::string text(program.images[0]->bytes.begin(), program.images[0]->bytes.end());
  EXPECT_TRUE(
      text.starts_with("#define N 1024\n#define EACH 2\n#define THREADS 64\n"
                       "#line 1 \"twice.cl\"\n"))
      << text;
  EXPECT_EQ(program.images[0]->entries.at(0)->name, "twice");
  ASSERT_EQ(program.buffers.size(), 2u);
  EXPECT_EQ(program.buffers[1]->role, wire::BufferRole::Output);
  EXPECT_EQ(program.buffers[1]->bytes, 4096u);
  const wire::LaunchT& launch = *program.launches.at(0);
  EXPECT_EQ(launch.grid->x(), 8u);
  EXPECT_EQ(launch.block->x(), 64u);
  ASSERT_EQ(launch.args.size(), 3u);
  EXPECT_EQ(launch.args[2].kind(), wire::ArgKind::Float32);
  EXPECT_EQ(launch.args[2].real_value(), 2.0);
  EXPECT_TRUE(check_program(program).ok());
  // What it computes nobody knows, so that no time of it is implausible for its operations.
  EXPECT_EQ(output->facts->operations, 0);
  EXPECT_EQ(output->facts->compulsory_bytes, 4096);
}

TEST_F(KernelTasks, OneDeviceTakesNoOthersLanguage) {
  const auto task = open("twice.cl", cpu_target("", "x86_64"));
  ASSERT_FALSE(task.ok());
  EXPECT_EQ(task.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(task.error().text(),
            "twice.cl is OpenCL C, which is nothing for a device of the back end cpu_llvm");
}

TEST_F(KernelTasks, ArgumentsMustFitTheDevice) {
  sample.change("N = 1024", "N = 1048576");
  const auto task = open("twice.cl", opencl_target());
  ASSERT_FALSE(task.ok());
  EXPECT_EQ(task.error().text(),
            "twice 1024: its arguments have 8388608 bytes, the device gives a program 1048576");
}

TEST_F(KernelTasks, ABlockNoDeviceTakesIsABuildError) {
  sample.change("threads = [\"THREADS\"]", "threads = [\"THREADS\", 100]");
  const auto output = built("twice.cl", opencl_target());
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().code, ErrorCode::BuildError);
  EXPECT_NE(output.error().text().find("64 x 100 x 1 threads; no device takes more than 4096"),
            std::string::npos);
}

TEST_F(KernelTasks, ExplainShowsWhatIsCompiledAndLaunched) {
  const auto task = open("twice.cl", opencl_target());
  ASSERT_TRUE(task.ok()) << task.error().text();
  std::mt19937_64 rng(1);
  const auto text = (*task)->explain((*task)->space().random(rng), "");
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find("#line 1 \"twice.cl\""), std::string::npos);
  EXPECT_NE(text->find("--- launches\ntwice: "), std::string::npos);
  EXPECT_FALSE((*task)->explain((*task)->space().random(rng), "vectorize"));
}

TEST_F(KernelTasks, CudaIsCompiledToPtxOrACubin) {
  sample.write("twice.cu", kCuda);
  const auto output = built("twice.cu", cuda_target());
  if (!output && output.error().code == ErrorCode::Unsupported) {
    GTEST_SKIP() << output.error().text();
  }
  ASSERT_TRUE(output.ok()) << output.error().text();
  const wire::ImageT& image = *output->program->images.at(0);
  EXPECT_EQ(image.entries.at(0)->name, "_Z5twicePKfPff");
  const std::string bytes(image.bytes.begin(), image.bytes.end());
  EXPECT_NE(
      bytes.find(image.kind == wire::ImageKind::Ptx ? ".entry _Z5twicePKfPff" : "_Z5twicePKfPff"),
      std::string::npos);
  EXPECT_TRUE(check_program(*output->program).ok());

  sample.write("twice.cu", "\n__global__ void twice(float* to) { nothing; }\n");
  const auto wrong = built("twice.cu", cuda_target());
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, ErrorCode::BuildError);
  EXPECT_NE(wrong.error().text().find("twice.cu(2): error: identifier \"nothing\""),
            std::string::npos)
      << wrong.error().text();
}

TEST_F(KernelTasks, CudaNeedsADriverAsNewAsTheCompiler) {
  sample.write("twice.cu", kCuda);
  const auto output = built("twice.cu", cuda_target(87, 1104));
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().code, ErrorCode::Unsupported);
  const std::string said = output.error().text();
  EXPECT_TRUE(said.find("no libnvrtc here") != std::string::npos ||
              said.find("device's driver, of CUDA 11.4, does not take") != std::string::npos)
      << said;
}

TEST_F(KernelTasks, PtxIsTakenAsItIs) {
  sample.write("twice.ptx", kPtx);
  const auto output = built("twice.ptx", cuda_target(90, 1104));  // older than any ptxas here
  ASSERT_TRUE(output.ok()) << output.error().text();
  const wire::ImageT& image = *output->program->images.at(0);
  EXPECT_EQ(image.entries.at(0)->name, "twice");
  if (image.kind == wire::ImageKind::Ptx) {
    EXPECT_EQ(std::string(image.bytes.begin(), image.bytes.end()), kPtx);
  }
}

TEST_F(KernelTasks, CIsCompiledForThisMachineAndForBoards) {
  use_c();
  for (const auto& [key, arch] :
       {std::pair{"", "x86_64"}, {"rk3399", "aarch64"}, {"pynq-z1", "armv7"}}) {
    const auto output = built("twice.c", cpu_target(key, arch), 4);
    if (!output && output.error().code == ErrorCode::Unsupported) {
      GTEST_SKIP() << output.error().text();
    }
    ASSERT_TRUE(output.ok()) << arch << ": " << output.error().text();
    const wire::ImageT& image = *output->program->images.at(0);
    ASSERT_TRUE(image.cpu);
    EXPECT_EQ(image.cpu->arch, arch);
    EXPECT_EQ(output->program->launches.at(0)->parallel_extent, 256u);
    EXPECT_TRUE(check_program(*output->program).ok());
  }
}

TEST_F(KernelTasks, CFindsNoLibraryOnABoard) {
  use_c();
  sample.write("twice.c", "float expf(float);\n" +
                              std::string(kC).replace(std::string(kC).find("factor * from[i]"), 16,
                                                      "expf(from[i])"));
  const auto output = built("twice.c", cpu_target("", "x86_64"));
  ASSERT_FALSE(output.ok());
  if (output.error().code == ErrorCode::Unsupported) GTEST_SKIP() << output.error().text();
  EXPECT_EQ(output.error().code, ErrorCode::BuildError);
  EXPECT_NE(output.error().text().find("expf"), std::string::npos) << output.error().text();
  EXPECT_NE(output.error().text().find("which finds no library on a board"), std::string::npos);

  sample.write("twice.c", "void twice(int x) { nothing; }\n");
  const auto wrong = built("twice.c", cpu_target("", "x86_64"));
  EXPECT_NE(wrong.error().text().find("twice.c:1:"), std::string::npos) << wrong.error().text();
}

// Writable data, all of which is zero at first: nothing of it is in the file.
TEST_F(KernelTasks, CMayHaveZeroedStatics) {
  use_c();
  sample.write("twice.c",
               "static int calls;\n" +
                   std::string(kC).insert(std::string(kC).find('{') + 1, "\n++calls;\n"));
  const auto output = built("twice.c", cpu_target("", "x86_64"));
  if (!output && output.error().code == ErrorCode::Unsupported) {
    GTEST_SKIP() << output.error().text();
  }
  ASSERT_TRUE(output.ok()) << output.error().text();
}

TEST_F(KernelTasks, CDoesNotCallTheSystem) {
  use_c();
  sample.write("twice.c",
               std::string(kC).insert(std::string(kC).find('{') + 1, "\n__asm__(\"syscall\");\n"));
  const auto output = built("twice.c", cpu_target("", "x86_64"));
  ASSERT_FALSE(output.ok());
  if (output.error().code == ErrorCode::Unsupported) GTEST_SKIP() << output.error().text();
  EXPECT_EQ(output.error().code, ErrorCode::BuildError);
  EXPECT_NE(output.error().text().find("calls the operating system (syscall"), std::string::npos)
      << output.error().text();
}

TEST_F(KernelTasks, WithoutClangItIsSaid) {
  use_c();
  ::setenv("FETTLE_CLANG", "/nonexistent/clang", 1);
  const auto output = built("twice.c", cpu_target("", "x86_64"));
  ::unsetenv("FETTLE_CLANG");
  ASSERT_FALSE(output.ok());
  EXPECT_NE(output.error().text().find("there is no clang here, which compiles C for x86_64"),
            std::string::npos)
      << output.error().text();
}

// The library is looked for once in a process: another one asks.
TEST(KernelTasksDeathTest, WithoutNvrtcItIsSaid) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ::setenv("FETTLE_NVRTC", "/nonexistent/libnvrtc.so", 1);
        const KernelSample sample;
        sample.write("twice.cu", kCuda);
        const auto list = model::load_kernel(sample.file("twice.cu"));
        const auto task = open_task(list->tasks.front().workload, cuda_target());
        std::mt19937_64 rng(1);
        std::fprintf(stderr, "%s\n",
                     (*task)->build((*task)->space().random(rng)).error().text().c_str());
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "/nonexistent/libnvrtc.so");
}

}  // namespace
}  // namespace fettle::backend
