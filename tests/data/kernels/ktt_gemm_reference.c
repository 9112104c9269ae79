// c[n][m] = sum over k of a[k][m] b[k][n]. M, N and K are #defines, as in the kernel.
void gemm(const float* a, const float* b, float* c) {
  for (int n = 0; n < N; ++n) {
    for (int m = 0; m < M; ++m) {
      double sum = 0;
      for (int k = 0; k < K; ++k) sum += (double)a[k * M + m] * b[k * N + n];
      c[n * M + m] = (float)sum;
    }
  }
}
