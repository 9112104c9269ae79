// The sum of N floats in two launches: BLOCKS blocks of THREADS threads sum up a part of the input
// each, into `partial`; then one block sums up those.
//
// N and the knobs are #defines that fettle puts in front: see reduction.toml.

#define STEP (BLOCKS * THREADS * VECTOR)

// The sum of all threads' values, in thread 0.
float sum_of_block(float value, __local float* sums) {
  const int thread = get_local_id(0);
  sums[thread] = value;
  for (int active = THREADS / 2; active > 0; active /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (thread < active) sums[thread] += sums[thread + active];
  }
  return sums[0];
}

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1)))
void sum_parts(__global const float* restrict values, __global float* restrict partial) {
  __local float sums[THREADS];
  float own[VECTOR];
  for (int v = 0; v < VECTOR; ++v) own[v] = 0.0f;
#pragma unroll UNROLL
  for (int i = get_global_id(0) * VECTOR; i < N; i += STEP) {
    for (int v = 0; v < VECTOR; ++v) own[v] += values[i + v];
  }
  float sum = 0.0f;
  for (int v = 0; v < VECTOR; ++v) sum += own[v];
  sum = sum_of_block(sum, sums);
  if (get_local_id(0) == 0) partial[get_group_id(0)] = sum;
}

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1)))
void sum_partials(__global const float* restrict partial, __global float* restrict result) {
  __local float sums[THREADS];
  float sum = 0.0f;
  for (int i = get_local_id(0); i < BLOCKS; i += THREADS) sum += partial[i];
  sum = sum_of_block(sum, sums);
  if (get_local_id(0) == 0) *result = sum;
}
