// A layer of ResNet-18 as plain C, for comparison with tuned kernels in executed
// instructions (count.sh): NHWC float32 convolution, bias, relu. Output channels
// innermost, so that a compiler can make vectors of them as they lie. The image lies
// there with its zero padding, which is not counted. HEIGHT, IN_CHANNELS, OUT_CHANNELS,
// KERNEL, STRIDE, PAD and RELU are set on the compiler's command line.
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { kPadded = HEIGHT + 2 * PAD, kOut = (kPadded - KERNEL) / STRIDE + 1 };
static float input[kPadded][kPadded][IN_CHANNELS];
static float weight[KERNEL][KERNEL][IN_CHANNELS][OUT_CHANNELS];
static float bias[OUT_CHANNELS];
static float output[kOut][kOut][OUT_CHANNELS];

__attribute__((noinline)) static void conv2d(void) {
  for (int y = 0; y < kOut; ++y) {
    for (int x = 0; x < kOut; ++x) {
      float sum[OUT_CHANNELS];
      for (int o = 0; o < OUT_CHANNELS; ++o) sum[o] = bias[o];
      for (int ky = 0; ky < KERNEL; ++ky) {
        for (int kx = 0; kx < KERNEL; ++kx) {
          for (int i = 0; i < IN_CHANNELS; ++i) {
            const float value = input[y * STRIDE + ky][x * STRIDE + kx][i];
            for (int o = 0; o < OUT_CHANNELS; ++o) sum[o] += value * weight[ky][kx][i][o];
          }
        }
      }
      for (int o = 0; o < OUT_CHANNELS; ++o) output[y][x][o] = RELU && sum[o] < 0 ? 0 : sum[o];
    }
  }
}

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(void) {
  for (int y = 0; y < HEIGHT; ++y) {
    for (int x = 0; x < HEIGHT; ++x) {
      float* const pixel = input[y + PAD][x + PAD];
      for (int i = 0; i < IN_CHANNELS; ++i) pixel[i] = (float)((y + 3 * x + i) % 7 - 3);
    }
  }
  float* const w = &weight[0][0][0][0];
  for (int i = 0; i < KERNEL * KERNEL * IN_CHANNELS * OUT_CHANNELS; ++i) w[i] = (float)(i % 5 - 2);
  for (int o = 0; o < OUT_CHANNELS; ++o) bias[o] = (float)o;
  int64_t best = INT64_MAX;
  // The first run also maps the output's pages.
  for (int run = 0; run < 2; ++run) {
    const int64_t start = now();
    conv2d();
    const int64_t spent = now() - start;
    if (spent < best) best = spent;
  }
  // Small whole numbers: exact in any order of sums. One pixel, to show that it was computed.
  int right = 1;
  for (int o = 0; o < OUT_CHANNELS; ++o) {
    double expected = bias[o];
    for (int ky = 0; ky < KERNEL; ++ky) {
      for (int kx = 0; kx < KERNEL; ++kx) {
        for (int i = 0; i < IN_CHANNELS; ++i) {
          expected += (double)input[(kOut - 1) * STRIDE + ky][(kOut - 1) * STRIDE + kx][i] *
                      weight[ky][kx][i][o];
        }
      }
    }
    if (RELU && expected < 0) expected = 0;
    if (output[kOut - 1][kOut - 1][o] != expected) right = 0;
  }
  printf("plain %lld %s\n", (long long)best, right ? "right" : "wrong");
  return 0;
}
