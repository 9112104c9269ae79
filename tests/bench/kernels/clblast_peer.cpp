// Products of matrices by CLBlast (clblast_peer.h).
#include "tests/bench/kernels/clblast_peer.h"

#include <clblast.h>
#include <fmt/format.h>

#include <optional>
#include <vector>

namespace fettle::bench {
namespace {

Result<void> said(clblast::StatusCode status, const char* call) {
  if (status == clblast::StatusCode::kSuccess) return {};
  return Error{ErrorCode::Internal, fmt::format("{}: {}", call, static_cast<int>(status)), {}};
}

Result<void> said(cl_int status, const char* call) {
  if (status == CL_SUCCESS) return {};
  return Error{ErrorCode::Internal, fmt::format("{}: {}", call, status), {}};
}

// What no output holds. No NaN, see fill_out().
constexpr float kNoAnswer = 1e30f;

// Bias, residual and activation, in place.
constexpr const char* kTail = R"(
__kernel void tail(__global float* out, __global const float* bias, __global const float* residual,
                   uint inner, uint channels) {
  const size_t i = get_global_id(0);
  float value = out[i];
#if BIAS
  value += bias[i / inner % channels];
#endif
#if RESIDUAL
  value += residual[i];
#endif
#if RELU
  value = fmax(value, 0.0f);
#endif
#if GELU
  value = 0.5f * value * (1.0f + erf(value * 0.70710678f));
#endif
  out[i] = value;
})";

// first [batch][m][k] times second [batch][k][n]; a factor of a stride 0 is the same in each batch.
struct Product {
  std::size_t batch = 1, m = 0, n = 0, k = 0;
  const std::vector<float>* first = nullptr;
  const std::vector<float>* second = nullptr;
  bool first_repeats = false, second_repeats = false;
  bool constant_second = true;
  std::size_t tail_inner = 1;  // elements of the output that follow one another with one bias
};

std::optional<Product> product_of(const Layer& layer) {
  const Shape& s = layer.shape;
  const auto size = [](std::int64_t extent) { return static_cast<std::size_t>(extent); };
  Product p;
  p.k = size(s.in_channels);
  p.n = size(s.out_channels);
  p.first = &layer.input;
  p.second = &layer.weight;
  if (layer.kind == LayerKind::Dense) {
    p.m = size(s.batch);
    return p;
  }
  if (layer.kind == LayerKind::BatchMatmul) {
    p.batch = size(s.batch);
    p.m = size(s.height);
    p.constant_second = false;
    return p;
  }
  const bool pointwise = layer.kind == LayerKind::Convolution && !layer.volume && s.groups == 1 &&
                         s.kernel == std::array<std::int64_t, 2>{1, 1} && s.stride == s.kernel &&
                         s.pad == std::array<std::int64_t, 2>{0, 0};
  if (!pointwise) return std::nullopt;
  const std::size_t pixels = size(s.height * s.width);
  if (!layer.channels_first) {
    p.m = size(s.batch) * pixels;
    return p;
  }
  // Of each picture: weights [out][in] times pixels [in][y, x].
  p.batch = size(s.batch);
  p.m = size(s.out_channels);
  p.n = pixels;
  std::swap(p.first, p.second);
  p.first_repeats = true;
  p.constant_second = false;
  p.tail_inner = pixels;
  return p;
}

class ClBlastPeer final : public Contender {
 public:
  ClBlastPeer(ClBlastDevice& device, const Layer& layer, const Product& product,
              SecondFactor second)
      : device_(device),
        layer_(layer),
        p_(product),
        transposed_(second == SecondFactor::Transposed),
        name_(transposed_ ? "clblast_transposed" : "clblast"),
        implementation_(p_.batch > 1 ? "GemmStridedBatched"
                        : p_.m == 1  ? "Gemv"
                                     : "Gemm") {}
  ~ClBlastPeer() override {
    for (cl_mem buffer : {first_, second_, bias_, residual_, out_}) {
      if (buffer) clReleaseMemObject(buffer);
    }
    if (tail_) clReleaseKernel(tail_);
    if (program_) clReleaseProgram(program_);
  }

  Result<void> prepare() {
    std::vector<float> second = *p_.second;
    if (transposed_) {
      for (std::size_t row = 0; row < p_.k; ++row) {
        for (std::size_t column = 0; column < p_.n; ++column) {
          second[column * p_.k + row] = (*p_.second)[row * p_.n + column];
        }
      }
    }
    for (const auto& [to, from] : {std::pair{&first_, p_.first},
                                   {&second_, &std::as_const(second)},
                                   {&bias_, &layer_.bias},
                                   {&residual_, &layer_.residual}}) {
      if (auto done = upload(*to, *from); !done) return done;
    }
    cl_int status = CL_SUCCESS;
    out_ = clCreateBuffer(device_.context(), CL_MEM_READ_WRITE, bytes(), nullptr, &status);
    if (auto done = said(status, "clCreateBuffer"); !done) return done;
    if (auto done = fill_out(0); !done) return done;
    if (layer_.bias.empty() && layer_.residual.empty() && !layer_.relu && !layer_.gelu) return {};
    return build_tail();
  }

  const std::string& name() const override { return name_; }
  const std::string& implementation() const override { return implementation_; }

  Result<void> run(std::uint32_t times) override {
    for (std::uint32_t i = 0; i < times; ++i) {
      if (auto done = said(multiply(), implementation_.c_str()); !done) return done;
      if (!tail_) continue;
      const std::size_t size = layer_.expected.size();
      const cl_int status = clEnqueueNDRangeKernel(device_.queue(), tail_, 1, nullptr, &size,
                                                   nullptr, 0, nullptr, nullptr);
      if (auto done = said(status, "clEnqueueNDRangeKernel"); !done) return done;
    }
    return said(clFinish(device_.queue()), "clFinish");
  }

  Result<std::vector<float>> output() override {
    if (auto done = fill_out(kNoAnswer); !done) return std::move(done).error();
    if (auto done = run(1); !done) return std::move(done).error();
    std::vector<float> values(layer_.expected.size());
    const cl_int status = clEnqueueReadBuffer(device_.queue(), out_, CL_TRUE, 0, bytes(),
                                              values.data(), 0, nullptr, nullptr);
    if (auto done = said(status, "clEnqueueReadBuffer"); !done) return std::move(done).error();
    return values;
  }

 private:
  std::size_t bytes() const { return layer_.expected.size() * sizeof(float); }

  Result<void> upload(cl_mem& to, const std::vector<float>& values) {
    if (values.empty()) return {};
    cl_int status = CL_SUCCESS;
    to = clCreateBuffer(device_.context(), CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                        values.size() * sizeof(float), const_cast<float*>(values.data()), &status);
    return said(status, "clCreateBuffer");
  }

  // CLBlast's Gemv adds beta times what was there also for a beta of 0: NaN where that is NaN, as
  // fresh memory may be.
  Result<void> fill_out(float value) {
    const cl_int status = clEnqueueFillBuffer(device_.queue(), out_, &value, sizeof value, 0,
                                              bytes(), 0, nullptr, nullptr);
    if (auto done = said(status, "clEnqueueFillBuffer"); !done) return done;
    return said(clFinish(device_.queue()), "clFinish");
  }

  Result<void> build_tail() {
    cl_int status = CL_SUCCESS;
    const char* source = kTail;
    program_ = clCreateProgramWithSource(device_.context(), 1, &source, nullptr, &status);
    if (auto done = said(status, "clCreateProgramWithSource"); !done) return done;
    const std::string options =
        fmt::format("-DBIAS={:d} -DRESIDUAL={:d} -DRELU={:d} -DGELU={:d}", !layer_.bias.empty(),
                    !layer_.residual.empty(), layer_.relu, layer_.gelu);
    status = clBuildProgram(program_, 0, nullptr, options.c_str(), nullptr, nullptr);
    if (auto done = said(status, "clBuildProgram"); !done) return done;
    tail_ = clCreateKernel(program_, "tail", &status);
    if (auto done = said(status, "clCreateKernel"); !done) return done;
    const auto inner = static_cast<cl_uint>(p_.tail_inner),
               channels = static_cast<cl_uint>(layer_.shape.out_channels);
    const cl_int bound =
        clSetKernelArg(tail_, 0, sizeof out_, &out_) |
        clSetKernelArg(tail_, 1, sizeof bias_, bias_ ? &bias_ : nullptr) |
        clSetKernelArg(tail_, 2, sizeof residual_, residual_ ? &residual_ : nullptr) |
        clSetKernelArg(tail_, 3, sizeof inner, &inner) |
        clSetKernelArg(tail_, 4, sizeof channels, &channels);
    return said(bound, "clSetKernelArg");
  }

  clblast::StatusCode multiply() {
    using clblast::Layout;
    using clblast::Transpose;
    cl_command_queue queue = device_.queue();
    const Transpose turn = transposed_ ? Transpose::kYes : Transpose::kNo;
    const std::size_t ld = transposed_ ? p_.k : p_.n;
    if (p_.batch > 1) {
      return clblast::GemmStridedBatched<float>(
          Layout::kRowMajor, Transpose::kNo, turn, p_.m, p_.n, p_.k, 1.0f, first_, 0, p_.k,
          p_.first_repeats ? 0 : p_.m * p_.k, second_, 0, ld, p_.second_repeats ? 0 : p_.k * p_.n,
          0.0f, out_, 0, p_.n, p_.m * p_.n, p_.batch, &queue);
    }
    if (p_.m == 1) {
      // out = second^T x, or its rows times x where they are transposed already.
      const std::size_t rows = transposed_ ? p_.n : p_.k, columns = transposed_ ? p_.k : p_.n;
      return clblast::Gemv<float>(Layout::kRowMajor, transposed_ ? Transpose::kNo : Transpose::kYes,
                                  rows, columns, 1.0f, second_, 0, columns, first_, 0, 1, 0.0f,
                                  out_, 0, 1, &queue);
    }
    return clblast::Gemm<float>(Layout::kRowMajor, Transpose::kNo, turn, p_.m, p_.n, p_.k, 1.0f,
                                first_, 0, p_.k, second_, 0, ld, 0.0f, out_, 0, p_.n, &queue);
  }

  ClBlastDevice& device_;
  const Layer& layer_;
  Product p_;
  bool transposed_;
  std::string name_, implementation_;
  cl_mem first_ = nullptr, second_ = nullptr, bias_ = nullptr, residual_ = nullptr, out_ = nullptr;
  cl_program program_ = nullptr;
  cl_kernel tail_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<ClBlastDevice>> ClBlastDevice::open() {
  cl_platform_id platforms[16];
  cl_uint count = 0;
  if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS) count = 0;
  std::unique_ptr<ClBlastDevice> out(new ClBlastDevice);
  for (const cl_device_type type :
       std::initializer_list<cl_device_type>{CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ALL}) {
    for (cl_uint i = 0; i < std::min<cl_uint>(count, 16) && !out->id_; ++i) {
      cl_uint found = 0;
      clGetDeviceIDs(platforms[i], type, 1, &out->id_, &found);
    }
  }
  if (!out->id_) return Error{ErrorCode::NotFound, "no OpenCL device here", {}};
  cl_int status = CL_SUCCESS;
  out->context_ = clCreateContext(nullptr, 1, &out->id_, nullptr, nullptr, &status);
  if (auto made = said(status, "clCreateContext"); !made) return std::move(made).error();
  // Profiled, as ours is.
  out->queue_ = clCreateCommandQueue(out->context_, out->id_, CL_QUEUE_PROFILING_ENABLE, &status);
  if (auto made = said(status, "clCreateCommandQueue"); !made) return std::move(made).error();
  return out;
}

ClBlastDevice::~ClBlastDevice() {
  if (queue_) clReleaseCommandQueue(queue_);
  if (context_) clReleaseContext(context_);
}

std::string ClBlastDevice::name() const {
  char text[256] = {};
  clGetDeviceInfo(id_, CL_DEVICE_NAME, sizeof text - 1, text, nullptr);
  return text;
}

Result<std::unique_ptr<Contender>> make_clblast_peer(ClBlastDevice& device, const Layer& layer,
                                                     SecondFactor second) {
  if (layer.int8 || layer.half) {
    return Error{ErrorCode::Unsupported, "clblast: only float32 here", {}};
  }
  const auto product = product_of(layer);
  if (!product) return Error{ErrorCode::Unsupported, "clblast: only products of matrices", {}};
  if (second == SecondFactor::Transposed && !product->constant_second) {
    return Error{ErrorCode::Unsupported, "clblast: the second factor is an input", {}};
  }
  auto peer = std::make_unique<ClBlastPeer>(device, layer, *product, second);
  if (auto done = peer->prepare(); !done) return std::move(done).error();
  return std::unique_ptr<Contender>(std::move(peer));
}

}  // namespace fettle::bench
