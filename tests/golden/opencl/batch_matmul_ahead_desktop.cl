// OpenCL C 1.2, written by fettle

__kernel __attribute__((reqd_work_group_size(8, 4, 1)))
void fettle_matmul(__global const float* restrict input,
                   __global const float* restrict input_b,
                   __global float* restrict matmul) {
  const int block_x = get_group_id(0);
  const int block_y = get_group_id(1);
  const int thread_x = get_local_id(0);
  const int thread_y = get_local_id(1);
  const int matmul_first_at_2 = thread_y * 2;
  const int matmul_second_at_1 = thread_x * 2;
  const int matmul_at = thread_y * 40 + thread_x * 2;
  __local float matmul_first[64];
  __local float matmul_second[128];
  const int n_begin = min(block_y * 16, 4);
  const int matmul_at_1 = matmul_at + n_begin;
  const int m_begin = min(block_x * 8, 4);
  const int input_at = m_begin * 16;
  const int matmul_at_2 = matmul_at_1 + m_begin * 20;
  float matmul_sums[4];
  matmul_sums[0] = 0.0f;
  matmul_sums[1] = 0.0f;
  matmul_sums[2] = 0.0f;
  matmul_sums[3] = 0.0f;
  const int k = thread_x % 4;
  const int input_at_1 = input_at + k;
  const int matmul_first_at = k * 8;
  const int m = thread_y * 2 + thread_x / 4;
  const int input_at_2 = input_at_1 + m * 16;
  const int matmul_first_at_1 = matmul_first_at + m;
  matmul_first[matmul_first_at_1] = input[input_at_2];
  for (int round = 0; round < 2; ++round) {
    const int n = (thread_y % 2) * 8 + thread_x;
    const int input_b_at = n_begin + n;
    const int k_1 = round * 2 + thread_y / 2;
    const int input_b_at_1 = input_b_at + k_1 * 20;
    const int matmul_second_at = n + k_1 * 16;
    matmul_second[matmul_second_at] = input_b[input_b_at_1];
  }
  for (int k_outer = 0; k_outer < 4; ++k_outer) {
    const int input_at_3 = input_at + k_outer * 4;
    const int input_b_at_2 = n_begin + k_outer * 80;
    barrier(CLK_LOCAL_MEM_FENCE);
    float matmul_second_next[2];
    float matmul_first_next;
    if (k_outer + 1 < 4) {
      const int k_2 = thread_x % 4;
      const int input_at_4 = input_at_3 + k_2;
      const int m_1 = thread_y * 2 + thread_x / 4;
      const int input_at_5 = input_at_4 + m_1 * 16;
      matmul_first_next = input[input_at_5 + 4];
      const int n_1 = (thread_y % 2) * 8 + thread_x;
      const int input_b_at_3 = input_b_at_2 + n_1;
      const int k_3 = thread_y / 2;
      const int input_b_at_4 = input_b_at_3 + k_3 * 20;
      matmul_second_next[0] = input_b[input_b_at_4 + 80];
      const int n_2 = (thread_y % 2) * 8 + thread_x;
      const int input_b_at_5 = input_b_at_2 + n_2;
      const int k_4 = thread_y / 2 + 2;
      const int input_b_at_6 = input_b_at_5 + k_4 * 20;
      matmul_second_next[1] = input_b[input_b_at_6 + 80];
    }
    const int place = k_outer % 2;
    const int matmul_first_at_3 = matmul_first_at_2 + place * 32;
    const int matmul_second_at_2 = matmul_second_at_1 + place * 64;
    matmul_sums[0] = mad(matmul_first[matmul_first_at_3], matmul_second[matmul_second_at_2], matmul_sums[0]);
    matmul_sums[1] = mad(matmul_first[matmul_first_at_3], matmul_second[matmul_second_at_2 + 1], matmul_sums[1]);
    matmul_sums[2] = mad(matmul_first[matmul_first_at_3 + 1], matmul_second[matmul_second_at_2], matmul_sums[2]);
    matmul_sums[3] = mad(matmul_first[matmul_first_at_3 + 1], matmul_second[matmul_second_at_2 + 1], matmul_sums[3]);
    matmul_sums[0] = mad(matmul_first[matmul_first_at_3 + 8], matmul_second[matmul_second_at_2 + 16], matmul_sums[0]);
    matmul_sums[1] = mad(matmul_first[matmul_first_at_3 + 8], matmul_second[matmul_second_at_2 + 17], matmul_sums[1]);
    matmul_sums[2] = mad(matmul_first[matmul_first_at_3 + 9], matmul_second[matmul_second_at_2 + 16], matmul_sums[2]);
    matmul_sums[3] = mad(matmul_first[matmul_first_at_3 + 9], matmul_second[matmul_second_at_2 + 17], matmul_sums[3]);
    matmul_sums[0] = mad(matmul_first[matmul_first_at_3 + 16], matmul_second[matmul_second_at_2 + 32], matmul_sums[0]);
    matmul_sums[1] = mad(matmul_first[matmul_first_at_3 + 16], matmul_second[matmul_second_at_2 + 33], matmul_sums[1]);
    matmul_sums[2] = mad(matmul_first[matmul_first_at_3 + 17], matmul_second[matmul_second_at_2 + 32], matmul_sums[2]);
    matmul_sums[3] = mad(matmul_first[matmul_first_at_3 + 17], matmul_second[matmul_second_at_2 + 33], matmul_sums[3]);
    matmul_sums[0] = mad(matmul_first[matmul_first_at_3 + 24], matmul_second[matmul_second_at_2 + 48], matmul_sums[0]);
    matmul_sums[1] = mad(matmul_first[matmul_first_at_3 + 24], matmul_second[matmul_second_at_2 + 49], matmul_sums[1]);
    matmul_sums[2] = mad(matmul_first[matmul_first_at_3 + 25], matmul_second[matmul_second_at_2 + 48], matmul_sums[2]);
    matmul_sums[3] = mad(matmul_first[matmul_first_at_3 + 25], matmul_second[matmul_second_at_2 + 49], matmul_sums[3]);
    if (k_outer + 1 < 4) {
      const int place_1 = (k_outer + 1) % 2;
      const int matmul_first_at_4 = place_1 * 32;
      const int matmul_second_at_3 = place_1 * 64;
      const int k_5 = thread_x % 4;
      const int matmul_first_at_5 = matmul_first_at_4 + k_5 * 8;
      const int m_2 = thread_y * 2 + thread_x / 4;
      const int matmul_first_at_6 = matmul_first_at_5 + m_2;
      matmul_first[matmul_first_at_6] = matmul_first_next;
      const int n_3 = (thread_y % 2) * 8 + thread_x;
      const int matmul_second_at_4 = matmul_second_at_3 + n_3;
      const int k_6 = thread_y / 2;
      const int matmul_second_at_5 = matmul_second_at_4 + k_6 * 16;
      matmul_second[matmul_second_at_5] = matmul_second_next[0];
      const int n_4 = (thread_y % 2) * 8 + thread_x;
      const int matmul_second_at_6 = matmul_second_at_3 + n_4;
      const int k_7 = thread_y / 2 + 2;
      const int matmul_second_at_7 = matmul_second_at_6 + k_7 * 16;
      matmul_second[matmul_second_at_7] = matmul_second_next[1];
    }
  }
  matmul[matmul_at_2] = matmul_sums[0];
  matmul[matmul_at_2 + 1] = matmul_sums[1];
  matmul[matmul_at_2 + 20] = matmul_sums[2];
  matmul[matmul_at_2 + 21] = matmul_sums[3];
}
