// ResNet-18's layers and MobileNet's depthwise ones at full size: every output of a
// few configurations each against plain loops, which share no code with the compiler.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "host/backend/backend.h"
#include "host/model/task_list.h"
#include "host/space/tolerance.h"
#include "host/space/workload.h"
#include "tests/support/compare.h"
#include "tests/support/native_run.h"
#include "tests/unit/plain_reference.h"

namespace fettle::testing {
namespace {

struct Shape {
  std::int64_t batch = 1, height = 1, width = 1, in = 1, out = 1;
  std::array<std::int64_t, 2> kernel{1, 1}, stride{1, 1}, pad{0, 0}, dilation{1, 1};
  std::int64_t out_height() const {
    return (height + 2 * pad[0] - (kernel[0] - 1) * dilation[0] - 1) / stride[0] + 1;
  }
  std::int64_t out_width() const {
    return (width + 2 * pad[1] - (kernel[1] - 1) * dilation[1] - 1) / stride[1] + 1;
  }
};

// Textbook loops, sums in double. dense is a convolution over one pixel.
std::vector<float> plain_convolution(const Shape& s, const float* input, const float* weight,
                                     const float* bias, const float* residual, bool relu) {
  std::vector<float> result(
      static_cast<std::size_t>(s.batch * s.out_height() * s.out_width() * s.out));
  std::vector<double> sums(static_cast<std::size_t>(s.out));
  std::size_t at = 0;
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (std::int64_t oy = 0; oy < s.out_height(); ++oy) {
      for (std::int64_t ox = 0; ox < s.out_width(); ++ox) {
        std::fill(sums.begin(), sums.end(), 0.0);
        for (std::int64_t ky = 0; ky < s.kernel[0]; ++ky) {
          for (std::int64_t kx = 0; kx < s.kernel[1]; ++kx) {
            const std::int64_t iy = oy * s.stride[0] + ky * s.dilation[0] - s.pad[0];
            const std::int64_t ix = ox * s.stride[1] + kx * s.dilation[1] - s.pad[1];
            if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) continue;
            for (std::int64_t c = 0; c < s.in; ++c) {
              const double pixel = input[((n * s.height + iy) * s.width + ix) * s.in + c];
              const float* row = weight + ((ky * s.kernel[1] + kx) * s.in + c) * s.out;
              for (std::int64_t o = 0; o < s.out; ++o)
                sums[static_cast<std::size_t>(o)] += pixel * row[o];
            }
          }
        }
        for (std::int64_t o = 0; o < s.out; ++o, ++at) {
          double value = sums[static_cast<std::size_t>(o)];
          if (bias != nullptr) value += bias[o];
          if (residual != nullptr) value += residual[at];
          result[at] = static_cast<float>(relu ? std::max(value, 0.0) : value);
        }
      }
    }
  }
  return result;
}

Shape shape_of(const space::Workload& workload) {
  Shape s;
  s.batch = workload.call()->integer("batch");
  if (workload.call()->op() == "dense") {
    s.in = workload.call()->integer("in_features"),
    s.out = workload.call()->integer("out_features");
    return s;
  }
  s.height = workload.call()->integer("height"), s.width = workload.call()->integer("width");
  s.in = workload.call()->integer("in_channels"), s.out = workload.call()->integer("out_channels");
  s.kernel = workload.call()->pair("kernel"), s.stride = workload.call()->pair("stride");
  s.pad = workload.call()->pair("pad"), s.dilation = workload.call()->pair("dilation");
  return s;
}

bool is_convolution(const space::Workload& workload) {
  return workload.call()->op() == "conv2d" || workload.call()->op() == "dense";
}

TEST(FullSize, EveryOutputOfEveryLayerIsRight) {
  Result<model::TaskList> network = model::load_network("resnet-18");
  ASSERT_TRUE(network.ok()) << network.error().text();
  ASSERT_GE(network->tasks.size(), 18u);
  Result<model::TaskList> mobilenet = model::load_network("mobilenet");
  ASSERT_TRUE(mobilenet.ok()) << mobilenet.error().text();
  for (const space::Task& task : mobilenet->tasks) {
    if (!is_convolution(task.workload)) network->tasks.push_back(task);
  }
  const std::uint64_t seed = 7;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 rng(seed);
  space::CpuTarget target = native_target();
  target.threads = 2;  // scratch memory of a task is there once per thread
  for (const space::Task& task : network->tasks) {
    const space::Workload& workload = task.workload;
    const auto opened = backend::open_task(workload.dag(), target.target());
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    const space::SearchSpace* space = &(*opened)->space();
    const space::Tolerance tolerance = space::tolerance_of(workload.dag());
    std::vector<float> expected;
    for (int i = 0; i < 3; ++i) {
      const space::Configuration configuration = space->random(rng);
      SCOPED_TRACE(workload.title() + " " + space->to_json(configuration));
      Result<wire::BuildOutputT> built = (*opened)->build(configuration);
      ASSERT_TRUE(built.ok()) << built.error().text();
      Result<BufferBytes> buffers = run_natively(*built->program, target.threads);
      ASSERT_TRUE(buffers.ok()) << buffers.error().text();
      auto find = [&](const char* name) -> const float* {
        for (std::size_t b = 0; b < buffers->size(); ++b) {
          if (built->program->buffers[b]->name == name)
            return reinterpret_cast<const float*>((*buffers)[b].data());
        }
        return nullptr;
      };
      if (expected.empty() && !is_convolution(workload)) {
        const std::vector<double> plain = plain_reference(*workload.call());
        expected.assign(plain.begin(), plain.end());
      }
      if (expected.empty()) {
        expected =
            plain_convolution(shape_of(workload), find("input"), find("weight"), find("bias"),
                              find("residual"), workload.call()->has_tail("relu"));
        // The data can show an error: about half the sums are negative, few are tiny.
        const auto zeros = std::count(expected.begin(), expected.end(), 0.0f);
        ASSERT_LT(static_cast<double>(zeros), 0.7 * static_cast<double>(expected.size()));
      }
      for (std::size_t b = 0; b < buffers->size(); ++b) {
        if (built->program->buffers[b]->role != wire::BufferRole::Output) continue;
        ASSERT_EQ("",
                  difference(as_floats((*buffers)[b]), expected,
                             tolerance.absolute * built->facts->error_growth, tolerance.relative));
      }
    }
  }
}

}  // namespace
}  // namespace fettle::testing
