// OpenCL C 1.2, written by fettle

__kernel __attribute__((reqd_work_group_size(8, 4, 1)))
void fettle_matmul(__global const char* restrict input,
                   __global const char* restrict input_b,
                   __global int* restrict matmul) {
  const int block_x = get_group_id(0);
  const int block_y = get_group_id(1);
  const int block_z = get_group_id(2);
  const int thread_x = get_local_id(0);
  const int thread_y = get_local_id(1);
  const int input_at = block_z * 192;
  const int input_b_at = block_z * 320;
  const int matmul_second_at_1 = thread_x * 2;
  const int matmul_first_at_2 = thread_y * 2;
  const int matmul_at = block_z * 240 + thread_y * 40 + thread_x * 2;
  __local char matmul_first[32];
  __local char matmul_second[64];
  const int n_begin = min(block_y * 16, 4);
  const int input_b_at_1 = input_b_at + n_begin;
  const int matmul_at_1 = matmul_at + n_begin;
  const int m_begin = min(block_x * 8, 4);
  const int input_at_1 = input_at + m_begin * 16;
  const int matmul_at_2 = matmul_at_1 + m_begin * 20;
  int matmul_sums[4];
  matmul_sums[0] = 0;
  matmul_sums[1] = 0;
  matmul_sums[2] = 0;
  matmul_sums[3] = 0;
  for (int k_outer = 0; k_outer < 4; ++k_outer) {
    const int input_at_2 = input_at_1 + k_outer * 4;
    const int input_b_at_2 = input_b_at_1 + k_outer * 80;
    const int k = thread_x % 4;
    const int input_at_3 = input_at_2 + k;
    const int matmul_first_at = k * 8;
    const int m = thread_y * 2 + thread_x / 4;
    const int input_at_4 = input_at_3 + m * 16;
    const int matmul_first_at_1 = matmul_first_at + m;
    matmul_first[matmul_first_at_1] = input[input_at_4];
    for (int round = 0; round < 2; ++round) {
      const int n = (thread_y % 2) * 8 + thread_x;
      const int input_b_at_3 = input_b_at_2 + n;
      const int k_1 = round * 2 + thread_y / 2;
      const int input_b_at_4 = input_b_at_3 + k_1 * 20;
      const int matmul_second_at = n + k_1 * 16;
      matmul_second[matmul_second_at] = input_b[input_b_at_4];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    matmul_sums[0] = matmul_sums[0] + (int)matmul_first[matmul_first_at_2] * (int)matmul_second[matmul_second_at_1];
    matmul_sums[1] = matmul_sums[1] + (int)matmul_first[matmul_first_at_2] * (int)matmul_second[matmul_second_at_1 + 1];
    matmul_sums[2] = matmul_sums[2] + (int)matmul_first[matmul_first_at_2 + 1] * (int)matmul_second[matmul_second_at_1];
    matmul_sums[3] = matmul_sums[3] + (int)matmul_first[matmul_first_at_2 + 1] * (int)matmul_second[matmul_second_at_1 + 1];
    matmul_sums[0] = matmul_sums[0] + (int)matmul_first[matmul_first_at_2 + 8] * (int)matmul_second[matmul_second_at_1 + 16];
    matmul_sums[1] = matmul_sums[1] + (int)matmul_first[matmul_first_at_2 + 8] * (int)matmul_second[matmul_second_at_1 + 17];
    matmul_sums[2] = matmul_sums[2] + (int)matmul_first[matmul_first_at_2 + 9] * (int)matmul_second[matmul_second_at_1 + 16];
    matmul_sums[3] = matmul_sums[3] + (int)matmul_first[matmul_first_at_2 + 9] * (int)matmul_second[matmul_second_at_1 + 17];
    matmul_sums[0] = matmul_sums[0] + (int)matmul_first[matmul_first_at_2 + 16] * (int)matmul_second[matmul_second_at_1 + 32];
    matmul_sums[1] = matmul_sums[1] + (int)matmul_first[matmul_first_at_2 + 16] * (int)matmul_second[matmul_second_at_1 + 33];
    matmul_sums[2] = matmul_sums[2] + (int)matmul_first[matmul_first_at_2 + 17] * (int)matmul_second[matmul_second_at_1 + 32];
    matmul_sums[3] = matmul_sums[3] + (int)matmul_first[matmul_first_at_2 + 17] * (int)matmul_second[matmul_second_at_1 + 33];
    matmul_sums[0] = matmul_sums[0] + (int)matmul_first[matmul_first_at_2 + 24] * (int)matmul_second[matmul_second_at_1 + 48];
    matmul_sums[1] = matmul_sums[1] + (int)matmul_first[matmul_first_at_2 + 24] * (int)matmul_second[matmul_second_at_1 + 49];
    matmul_sums[2] = matmul_sums[2] + (int)matmul_first[matmul_first_at_2 + 25] * (int)matmul_second[matmul_second_at_1 + 48];
    matmul_sums[3] = matmul_sums[3] + (int)matmul_first[matmul_first_at_2 + 25] * (int)matmul_second[matmul_second_at_1 + 49];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  matmul[matmul_at_2] = matmul_sums[0];
  matmul[matmul_at_2 + 1] = matmul_sums[1];
  matmul[matmul_at_2 + 20] = matmul_sums[2];
  matmul[matmul_at_2 + 21] = matmul_sums[3];
}
