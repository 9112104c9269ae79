// Buffers as images of texels, on a driver that is made to have few of them or none.
#include <gtest/gtest.h>

#include "runtime/guard.h"
#include "runtime/opencl/opencl_executor.h"
#include "runtime/opencl/opencl_image.h"
#include "runtime/opencl/opencl_memory.h"
#include "tests/support/opencl_candidates.h"

namespace fettle::runtime {
namespace {

class OpenClTexelsOf : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::why_no_opencl().empty()) GTEST_SKIP() << test::why_no_opencl();
    auto driver = OpenClDriver::load("libOpenCL.so.1");
    ASSERT_TRUE(driver) << driver.error().text();
    driver_ = std::move(*driver);
    queue_.emplace(OpenClQueue{*driver_});
    const OpenClCalls& call = driver_->call();
    cl_platform_id platform = nullptr;
    cl_int result = CL_SUCCESS;
    ASSERT_EQ(call.GetPlatformIDs(1, &platform, nullptr), CL_SUCCESS);
    ASSERT_EQ(call.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &queue_->device, nullptr),
              CL_SUCCESS);
    queue_->context = call.CreateContext(nullptr, 1, &queue_->device, nullptr, nullptr, &result);
    ASSERT_EQ(result, CL_SUCCESS);
    queue_->queue = call.CreateCommandQueue(queue_->context, queue_->device,
                                            CL_QUEUE_PROFILING_ENABLE, &result);
    ASSERT_EQ(result, CL_SUCCESS);
    memory_.emplace(*queue_, 128, 1 << 20);
  }

  std::unique_ptr<BufferMemory> take(std::uint64_t bytes) {
    wire::BufferT buffer;
    buffer.bytes = bytes, buffer.role = wire::BufferRole::Scratch;
    auto taken = memory_->take(buffer, [](const wire::Hash&) { return ByteView(); });
    EXPECT_TRUE(taken) << taken.error().text();
    return std::move(*taken);
  }

  // What a launch of a kernel that reads texels says, where an image has so many.
  Result<void> launch(std::uint64_t texels) {
    wire::ProgramT program = test::opencl_program("by_texels");
    program.launches[0]->args[0] = wire::Arg(wire::ArgKind::TexelsFloat32, 0, 0, 0, 0);
    auto image = OpenClLoader(*queue_).load(*program.images[0], program.images[0]->bytes);
    if (!image) return std::move(image).error();
    const OpenClLimits limits{{64, 64, 64}, 64, 1 << 14, texels};
    std::vector<std::unique_ptr<BufferMemory>> buffers;
    buffers.push_back(take(4016)), buffers.push_back(take(4016));
    OpenClExecutor executor(*queue_, limits);
    return executor.make_series()->add(*program.launches[0], **image, buffers);
  }

  std::unique_ptr<OpenClDriver> driver_;
  std::optional<OpenClQueue> queue_;
  std::optional<OpenClMemory> memory_;
};

TEST_F(OpenClTexelsOf, ABufferBeginBehindItsGuard) {
  const auto taken = take(4016);
  auto& buffer = static_cast<OpenClBuffer&>(*taken);
  const auto floats = buffer.texels(false, 0, 1 << 20), later = buffer.texels(false, 32, 1 << 20),
             halves = buffer.texels(true, 32, 1 << 20);
  ASSERT_TRUE(floats) << floats.error().text();
  ASSERT_TRUE(later) << later.error().text();
  ASSERT_TRUE(halves) << halves.error().text();
  EXPECT_EQ(floats->begin, int(kGuardBytes / 16));
  EXPECT_EQ(later->begin, int(kGuardBytes / 16) + 2);
  EXPECT_EQ(halves->begin, int(kGuardBytes / 8) + 4);
  EXPECT_EQ(floats->image, later->image) << "made once";
  EXPECT_NE(floats->image, halves->image);
}

TEST_F(OpenClTexelsOf, MoreThanAnImageHas) {
  const std::uint64_t texels = kGuardBytes / 16 + 251;
  EXPECT_TRUE(launch(texels)) << launch(texels).error().text();
  const auto refused = launch(texels - 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::OutOfResources);
  EXPECT_NE(refused.error().text().find("1275 texels"), std::string::npos)
      << refused.error().text();
}

TEST_F(OpenClTexelsOf, ADeviceWithoutImages) {
  const auto refused = launch(0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
  EXPECT_NE(refused.error().text().find("reads no buffers through images"), std::string::npos)
      << refused.error().text();
}

}  // namespace
}  // namespace fettle::runtime
