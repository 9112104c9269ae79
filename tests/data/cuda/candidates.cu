// Good and evil kernels for the tests of CUDA devices. candidates.ptx is made of this:
//   nvcc -ptx -arch=compute_75 candidates.cu, then ".version 6.4" so that older drivers take it.
#define KERNEL extern "C" __global__ void

__device__ int element() { return blockIdx.x * blockDim.x + threadIdx.x; }

KERNEL twice(const float* in, float* out, int n) {
  const int i = element();
  if (i < n) out[i] = 2 * in[i];
}
// Once more than it was; what was never written is a NaN.
KERNEL count(const float*, float* out, int n) {
  const int i = element();
  if (i < n) out[i] = out[i] == out[i] ? out[i] + 1 : 1;
}
// Steps through shared memory: a volatile variable of a thread's own is a register to nvcc, and ptxas
// leaves out a loop that only counts one.
KERNEL slow(const float* in, float* out, int n) {
  __shared__ volatile int steps[1024];
  const int i = element();
  for (steps[threadIdx.x] = 0; steps[threadIdx.x] < 100000;) {
    steps[threadIdx.x] = steps[threadIdx.x] + 1;
  }
  if (i < n) out[i] = 2 * in[i];
}
KERNEL one_wrong(const float* in, float* out, int n) {
  const int i = element();
  if (i < n) out[i] = i == 7 ? 0 : 2 * in[i];
}
KERNEL leave_part(const float* in, float* out, int n) {
  const int i = element();
  if (i < n - 10) out[i] = 2 * in[i];
}
KERNEL write_behind(const float* in, float* out, int n) {
  const int i = element();
  if (i < n) out[i] = 2 * in[i];
  if (i == 0) out[n + 1] = 1;
}
KERNEL write_before(const float* in, float* out, int n) {
  const int i = element();
  if (i < n) out[i] = 2 * in[i];
  if (i == 0) out[-1] = 1;
}
KERNEL write_input(float* in, float* out, int n) {
  const int i = element();
  if (i < n) out[i] = 2 * in[i];
  if (i == 5) in[5] = 3;
}
KERNEL write_wild(const float* in, float* out, int n) {
  const int i = element();
  if (i < n) out[i] = 2 * in[i];
  if (i == 0) *reinterpret_cast<float*>(0x10) = 1;
}
KERNEL endless(const float* in, volatile float* out, int n) {
  while (true) out[0] = in[0];
}
KERNEL trap(const float*, float*, int) {
  if (element() == 0) asm volatile("trap;");
}
KERNEL nothing() {}

// A float of each thread goes round through dynamic shared memory.
KERNEL through_shared(const float* in, float* out, int n) {
  extern __shared__ float kept[];
  const int i = element();
  kept[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  if (i < n) out[i] = 2 * kept[threadIdx.x];
}
// Scalars of each width.
KERNEL scalars(float* out, int small, long long large, float real, double precise) {
  out[0] = small;
  out[1] = static_cast<float>(large >> 32);
  out[2] = real;
  out[3] = static_cast<float>(precise);
}
// c = a b, all n x n, n a multiple of 16, blocks of 16 x 16.
KERNEL matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float as[16][17], bs[16][17];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    as[y][x] = a[row * n + k + x];
    bs[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += as[y][i] * bs[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
