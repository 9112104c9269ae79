// OpenCL C 1.2, written by fettle

float max_or_nan_float(float a, float b) {
  return (a > b || a != a) ? a : b;
}

float min_or_nan_float(float a, float b) {
  return (a < b || a != a) ? a : b;
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void fettle_softmax(__global const float* restrict input,
                    __global float* restrict softmax) {
  const int block_x = get_group_id(0);
  const int thread_x = get_local_id(0);
  const int input_at = block_x * 100 + thread_x;
  __local float largest_threads[64];
  __local float largest_warp[32];
  __local float largest[1];
  __local float sum_threads[64];
  __local float sum_warp[32];
  __local float sum[1];
  __local float inverse[1];
  float largest_threads_local;
  largest_threads_local = -INFINITY;
  for (int outer = 0; outer < 2; ++outer) {
    const int input_at_1 = input_at + outer * 64;
    const bool t = outer * 64 + thread_x < 100;
    largest_threads_local = max_or_nan_float(largest_threads_local, t ? (t ? input[input_at_1] : 0.0f) : -INFINITY);
  }
  largest_threads[thread_x] = largest_threads_local;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (thread_x < 32) {
    float largest_warp_local;
    largest_warp_local = -INFINITY;
    for (int outer_1 = 0; outer_1 < 2; ++outer_1) {
      const int largest_threads_at = thread_x + outer_1 * 32;
      largest_warp_local = max_or_nan_float(largest_warp_local, largest_threads[largest_threads_at]);
    }
    largest_warp[thread_x] = largest_warp_local;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float largest_local;
  largest_local = -INFINITY;
  largest_local = max_or_nan_float(largest_local, largest_warp[0]);
  largest_local = max_or_nan_float(largest_local, largest_warp[1]);
  largest_local = max_or_nan_float(largest_local, largest_warp[2]);
  largest_local = max_or_nan_float(largest_local, largest_warp[3]);
  largest_local = max_or_nan_float(largest_local, largest_warp[4]);
  largest_local = max_or_nan_float(largest_local, largest_warp[5]);
  largest_local = max_or_nan_float(largest_local, largest_warp[6]);
  largest_local = max_or_nan_float(largest_local, largest_warp[7]);
  largest_local = max_or_nan_float(largest_local, largest_warp[8]);
  largest_local = max_or_nan_float(largest_local, largest_warp[9]);
  largest_local = max_or_nan_float(largest_local, largest_warp[10]);
  largest_local = max_or_nan_float(largest_local, largest_warp[11]);
  largest_local = max_or_nan_float(largest_local, largest_warp[12]);
  largest_local = max_or_nan_float(largest_local, largest_warp[13]);
  largest_local = max_or_nan_float(largest_local, largest_warp[14]);
  largest_local = max_or_nan_float(largest_local, largest_warp[15]);
  largest_local = max_or_nan_float(largest_local, largest_warp[16]);
  largest_local = max_or_nan_float(largest_local, largest_warp[17]);
  largest_local = max_or_nan_float(largest_local, largest_warp[18]);
  largest_local = max_or_nan_float(largest_local, largest_warp[19]);
  largest_local = max_or_nan_float(largest_local, largest_warp[20]);
  largest_local = max_or_nan_float(largest_local, largest_warp[21]);
  largest_local = max_or_nan_float(largest_local, largest_warp[22]);
  largest_local = max_or_nan_float(largest_local, largest_warp[23]);
  largest_local = max_or_nan_float(largest_local, largest_warp[24]);
  largest_local = max_or_nan_float(largest_local, largest_warp[25]);
  largest_local = max_or_nan_float(largest_local, largest_warp[26]);
  largest_local = max_or_nan_float(largest_local, largest_warp[27]);
  largest_local = max_or_nan_float(largest_local, largest_warp[28]);
  largest_local = max_or_nan_float(largest_local, largest_warp[29]);
  largest_local = max_or_nan_float(largest_local, largest_warp[30]);
  largest_local = max_or_nan_float(largest_local, largest_warp[31]);
  largest[0] = largest_local;
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum_threads_local;
  sum_threads_local = 0.0f;
  for (int outer_2 = 0; outer_2 < 2; ++outer_2) {
    const int input_at_2 = input_at + outer_2 * 64;
    const bool t_1 = outer_2 * 64 + thread_x < 100;
    const float t_2 = min_or_nan_float(max_or_nan_float((t_1 ? input[input_at_2] : 0.0f) - largest[0], -88.0199966f), 88.3000031f);
    const float t_3 = floor(mad(t_2, 1.44269502f, 0.5f));
    const float t_4 = t_2 - t_3 * 0.693359375f - t_3 * -0.000212194442f;
    const float t_5 = (mad(mad(mad(mad(mad(mad(0.000198756912f, t_4, 0.00139819994f), t_4, 0.00833345205f), t_4, 0.0416657962f), t_4, 0.166666657f), t_4, 0.5f), t_4 * t_4, t_4) + 1.0f) * as_float(((int)t_3 + 127) << 23);
    sum_threads_local = sum_threads_local + (t_1 ? t_5 : 0.0f);
  }
  sum_threads[thread_x] = sum_threads_local;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (thread_x < 32) {
    float sum_warp_local;
    sum_warp_local = 0.0f;
    for (int outer_3 = 0; outer_3 < 2; ++outer_3) {
      const int sum_threads_at = thread_x + outer_3 * 32;
      sum_warp_local = sum_warp_local + sum_threads[sum_threads_at];
    }
    sum_warp[thread_x] = sum_warp_local;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum_local;
  sum_local = 0.0f;
  sum_local = sum_local + sum_warp[0];
  sum_local = sum_local + sum_warp[1];
  sum_local = sum_local + sum_warp[2];
  sum_local = sum_local + sum_warp[3];
  sum_local = sum_local + sum_warp[4];
  sum_local = sum_local + sum_warp[5];
  sum_local = sum_local + sum_warp[6];
  sum_local = sum_local + sum_warp[7];
  sum_local = sum_local + sum_warp[8];
  sum_local = sum_local + sum_warp[9];
  sum_local = sum_local + sum_warp[10];
  sum_local = sum_local + sum_warp[11];
  sum_local = sum_local + sum_warp[12];
  sum_local = sum_local + sum_warp[13];
  sum_local = sum_local + sum_warp[14];
  sum_local = sum_local + sum_warp[15];
  sum_local = sum_local + sum_warp[16];
  sum_local = sum_local + sum_warp[17];
  sum_local = sum_local + sum_warp[18];
  sum_local = sum_local + sum_warp[19];
  sum_local = sum_local + sum_warp[20];
  sum_local = sum_local + sum_warp[21];
  sum_local = sum_local + sum_warp[22];
  sum_local = sum_local + sum_warp[23];
  sum_local = sum_local + sum_warp[24];
  sum_local = sum_local + sum_warp[25];
  sum_local = sum_local + sum_warp[26];
  sum_local = sum_local + sum_warp[27];
  sum_local = sum_local + sum_warp[28];
  sum_local = sum_local + sum_warp[29];
  sum_local = sum_local + sum_warp[30];
  sum_local = sum_local + sum_warp[31];
  sum[0] = sum_local;
  barrier(CLK_LOCAL_MEM_FENCE);
  inverse[0] = 1.0f / sum[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int round = 0; round < 2; ++round) {
    const int input_at_3 = input_at + round * 64;
    if (round * 64 + thread_x < 100) {
      const float t_6 = min_or_nan_float(max_or_nan_float(input[input_at_3] - largest[0], -88.0199966f), 88.3000031f);
      const float t_7 = floor(mad(t_6, 1.44269502f, 0.5f));
      const float t_8 = t_6 - t_7 * 0.693359375f - t_7 * -0.000212194442f;
      const float t_9 = (mad(mad(mad(mad(mad(mad(0.000198756912f, t_8, 0.00139819994f), t_8, 0.00833345205f), t_8, 0.0416657962f), t_8, 0.166666657f), t_8, 0.5f), t_8 * t_8, t_8) + 1.0f) * as_float(((int)t_7 + 127) << 23);
      softmax[input_at_3] = t_9 * inverse[0];
    }
  }
}
