// The same as reduction.cl for NVIDIA's GPUs; reduction.toml serves both.

#define STEP (BLOCKS * THREADS * VECTOR)

// The sum of all threads' values, in thread 0.
__device__ float sum_of_block(float value) {
  __shared__ float sums[THREADS];
  sums[threadIdx.x] = value;
  for (int active = THREADS / 2; active > 0; active /= 2) {
    __syncthreads();
    if (threadIdx.x < active) sums[threadIdx.x] += sums[threadIdx.x + active];
  }
  return sums[0];
}

__global__ void __launch_bounds__(THREADS)
sum_parts(const float* __restrict__ values, float* __restrict__ partial) {
  float own[VECTOR] = {};
#pragma unroll UNROLL
  for (int i = (blockIdx.x * THREADS + threadIdx.x) * VECTOR; i < N; i += STEP) {
    for (int v = 0; v < VECTOR; ++v) own[v] += values[i + v];
  }
  float sum = 0;
  for (int v = 0; v < VECTOR; ++v) sum += own[v];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(THREADS)
sum_partials(const float* __restrict__ partial, float* __restrict__ result) {
  float sum = 0;
  for (int i = threadIdx.x; i < BLOCKS; i += THREADS) sum += partial[i];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) *result = sum;
}
