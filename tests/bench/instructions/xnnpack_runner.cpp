// Runs one convolution of XNNPACK on one thread; a program of a foreign CPU, for
// qemu-user. xnnpack_runner HEIGHT WIDTH IN OUT KERNEL STRIDE PAD RUNS, OUT 0:
// depthwise. Reads input [y][x][c], weights as XNNPACK wants them and bias as floats
// from standard input; writes the output to standard output. Ends with a relu.
#include <xnnpack.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void need(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "xnnpack_runner: %s\n", what);
  std::exit(1);
}

// XNNPACK reads some bytes past the end of its tensors.
constexpr std::size_t kSlack = XNN_EXTRA_BYTES / sizeof(float);

std::vector<float> read_floats(std::size_t count) {
  std::vector<float> values(count + kSlack);
  need(std::fread(values.data(), sizeof(float), count, stdin) == count, "input ends early");
  return values;
}

}  // namespace

int main(int count, char** arguments) {
  need(count == 9, "eight arguments are wanted");
  const auto number = [&](int i) {
    return static_cast<std::uint32_t>(std::strtoul(arguments[i], nullptr, 10));
  };
  const std::uint32_t height = number(1), width = number(2), in = number(3);
  const bool depthwise = number(4) == 0;
  const std::uint32_t out = depthwise ? in : number(4);
  const std::uint32_t kernel = number(5), stride = number(6), pad = number(7), runs = number(8);
  const std::size_t out_height = (height + 2 * pad - kernel) / stride + 1;
  const std::size_t out_width = (width + 2 * pad - kernel) / stride + 1;

  const std::vector<float> input = read_floats(std::size_t{height} * width * in);
  const std::vector<float> weight =
      read_floats(std::size_t{kernel} * kernel * (depthwise ? 1 : in) * out);
  const std::vector<float> bias = read_floats(out);
  std::vector<float> output(out_height * out_width * out + kSlack);

  need(xnn_initialize(nullptr) == xnn_status_success, "xnn_initialize");
  xnn_operator_t op = nullptr;
  need(xnn_create_convolution2d_nhwc_f32(
           pad, pad, pad, pad, kernel, kernel, stride, stride, 1, 1, depthwise ? in : 1,
           depthwise ? 1 : in, depthwise ? 1 : out, in, out, weight.data(), bias.data(), 0.0f,
           INFINITY, depthwise ? XNN_FLAG_DEPTHWISE_CONVOLUTION : 0, &op) == xnn_status_success,
       "xnn_create_convolution2d_nhwc_f32");
  need(xnn_setup_convolution2d_nhwc_f32(op, 1, height, width, input.data(), output.data(),
                                        nullptr) == xnn_status_success,
       "xnn_setup_convolution2d_nhwc_f32");
  for (std::uint32_t i = 0; i < runs; ++i) {
    need(xnn_run_operator(op, nullptr) == xnn_status_success, "xnn_run_operator");
  }
  const std::size_t values = out_height * out_width * out;
  need(std::fwrite(output.data(), sizeof(float), values, stdout) == values, "output refused");
  return std::fflush(stdout) == 0 ? 0 : 1;
}
