// c = a x b, row-major: a is M x K, b is K x N, c is M x N.
//
// A block (work-group) computes BLOCK_M x BLOCK_N elements of c, a thread (work-item) THREAD_M rows
// of THREAD_N columns of it, in registers. With STAGE the block first copies what all of its threads
// read into local memory, BLOCK_K columns of a and rows of b at a time.
//
// M, N, K and the knobs are #defines that fettle puts in front: see matmul.toml.

#define THREADS_X (BLOCK_N / THREAD_N)
#define THREADS_Y (BLOCK_M / THREAD_M)

__kernel __attribute__((reqd_work_group_size(THREADS_X, THREADS_Y, 1)))
void matmul(__global const float* restrict a, __global const float* restrict b,
            __global float* restrict c) {
  const int row = get_group_id(1) * BLOCK_M + get_local_id(1) * THREAD_M;
  const int column = get_group_id(0) * BLOCK_N + get_local_id(0) * THREAD_N;
  float sum[THREAD_M][THREAD_N];
  for (int i = 0; i < THREAD_M; ++i) {
    for (int j = 0; j < THREAD_N; ++j) sum[i][j] = 0.0f;
  }

#if STAGE
  __local float a_tile[BLOCK_M][BLOCK_K];
  __local float b_tile[BLOCK_K][BLOCK_N];
  const int thread = get_local_id(1) * THREADS_X + get_local_id(0);
  for (int k0 = 0; k0 < K; k0 += BLOCK_K) {
    for (int i = thread; i < BLOCK_M * BLOCK_K; i += THREADS_X * THREADS_Y) {
      a_tile[i / BLOCK_K][i % BLOCK_K] =
          a[(get_group_id(1) * BLOCK_M + i / BLOCK_K) * K + k0 + i % BLOCK_K];
    }
    for (int i = thread; i < BLOCK_K * BLOCK_N; i += THREADS_X * THREADS_Y) {
      b_tile[i / BLOCK_N][i % BLOCK_N] =
          b[(k0 + i / BLOCK_N) * N + get_group_id(0) * BLOCK_N + i % BLOCK_N];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll UNROLL
    for (int k = 0; k < BLOCK_K; ++k) {
      for (int i = 0; i < THREAD_M; ++i) {
        for (int j = 0; j < THREAD_N; ++j) {
          sum[i][j] += a_tile[get_local_id(1) * THREAD_M + i][k] *
                       b_tile[k][get_local_id(0) * THREAD_N + j];
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#else
#pragma unroll UNROLL
  for (int k = 0; k < K; ++k) {
    for (int i = 0; i < THREAD_M; ++i) {
      for (int j = 0; j < THREAD_N; ++j) {
        sum[i][j] += a[(row + i) * K + k] * b[k * N + column + j];
      }
    }
  }
#endif

  for (int i = 0; i < THREAD_M; ++i) {
    for (int j = 0; j < THREAD_N; ++j) c[(row + i) * N + column + j] = sum[i][j];
  }
}
