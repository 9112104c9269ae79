// A tiny network's kernels (dense.h), compiled freestanding and flattened like candidates.c.
#include "dense.h"

typedef int int32;
typedef long long int64;

__attribute__((section(".text.entry"))) void entry(void* const* args, int32 begin, int32 end,
                                                   int32 thread) {
  (void)thread;
  const int64 kind = *(const int64*)args[0];
  if (kind == kPackWeights) {
    const float* weights = (const float*)args[1];
    float* packed = (float*)args[2];
    const int32 k = (int32) * (const int64*)args[3], n = (int32) * (const int64*)args[4];
    for (int32 i = begin; i < end; ++i) {
      for (int32 j = 0; j < n; ++j) packed[(long)i * n + j] = weights[(long)j * k + i];
    }
    return;
  }
  const float* in = (const float*)args[1];
  const float* packed = (const float*)args[2];
  const float* bias = (const float*)args[3];
  float* out = (float*)args[4];
  const int32 k = (int32) * (const int64*)args[5], n = (int32) * (const int64*)args[6];
  const int64 relu = *(const int64*)args[7];
  for (int32 j = begin; j < end; ++j) {
    float sum = bias[j];
    for (int32 i = 0; i < k; ++i) sum += in[i] * packed[(long)i * n + j];
    out[j] = relu && sum < 0 ? 0 : sum;
  }
}
