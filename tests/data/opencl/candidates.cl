// The kernels of tests/data/cuda/candidates.cu for OpenCL devices, as far as the tests take them.
__kernel void twice(__global const float* in, __global float* out, int n) {
  const int i = get_global_id(0);
  if (i < n) out[i] = 2 * in[i];
}
__kernel void count(__global const float* in, __global float* out, int n) {
  const int i = get_global_id(0);
  if (i < n) out[i] = out[i] == out[i] ? out[i] + 1 : 1;
}
__kernel void slow(__global const float* in, __global float* out, int n) {
  const int i = get_global_id(0);
  for (volatile int step = 0; step < 10000; step = step + 1) continue;
  if (i < n) out[i] = 2 * in[i];
}
__kernel void write_behind(__global const float* in, __global float* out, int n) {
  const int i = get_global_id(0);
  if (i < n) out[i] = 2 * in[i];
  if (i == 0) out[n + 1] = 1;
}
__kernel void write_before(__global const float* in, __global float* out, int n) {
  const int i = get_global_id(0);
  if (i < n) out[i] = 2 * in[i];
  if (i == 0) out[-1] = 1;
}
__kernel void write_input(__global float* in, __global float* out, int n) {
  const int i = get_global_id(0);
  if (i < n) out[i] = 2 * in[i];
  if (i == 5) in[5] = 3;
}
__kernel void write_wild(__global const float* in, __global float* out, int n) {
  if (get_global_id(0) == 0) *(__global float*)(0x10UL) = 1;
}
__kernel void one_wrong(__global const float* in, __global float* out, int n) {
  const int i = get_global_id(0);
  if (i < n) out[i] = i == 7 ? 0 : 2 * in[i];
}
__kernel void endless(__global const float* in, __global volatile float* out, int n) {
  while (out[0] != 12345.0f) out[0] = in[0];
}
__kernel void through_local(__global const float* in, __global float* out, int n,
                            __local float* kept) {
  const int i = get_global_id(0);
  kept[get_local_id(0)] = i < n ? in[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < n) out[i] = 2 * kept[get_local_id(0)];
}
__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void of_eight(__global const float* in,
                                                                     __global float* out, int n) {
  const int i = get_global_id(0);
  if (i < n) out[i] = 2 * in[i];
}
float texel_element(float4 texel, int at) {
  return at == 0 ? texel.s0 : at == 1 ? texel.s1 : at == 2 ? texel.s2 : texel.s3;
}
__kernel void by_texels(__read_only image1d_buffer_t in, int begin, __global float* out, int n) {
  const int i = get_global_id(0);
  if (i < n) out[i] = 2 * texel_element(read_imagef(in, begin + i / 4), i % 4);
}
__kernel void texels_far_beyond(__read_only image1d_buffer_t in, int begin, __global float* out,
                                int n) {
  const int i = get_global_id(0);
  if (i < n) out[i] = read_imagef(in, begin + i + (1 << 28)).s0;
}
__kernel void of_other_images(__read_only image2d_t in, int begin, __global float* out, int n) {
  const int i = get_global_id(0);
  if (i < n) out[i] = 2 * read_imagef(in, (int2)(begin + i, 0)).s0;
}
