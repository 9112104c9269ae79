// OpenCL C 1.2, written by fettle
#pragma OPENCL EXTENSION cl_arm_integer_dot_product_accumulate_int8 : enable

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void fettle_pad(__global const char* restrict input,
                __global char* restrict pad) {
  const int thread_x = get_local_id(0);
  const int c_outer = thread_x % 2;
  const int input_at = c_outer * 4;
  const int x = (thread_x / 2) % 8;
  const int input_at_1 = input_at + x * 8;
  const int y = thread_x / 16;
  const int input_at_2 = input_at_1 + y * 48;
  const int pad_at = input_at_1 + y * 64;
  const int t = x - 1;
  const int t_1 = y - 1;
  vstore4(0 <= t_1 && t_1 < 6 && 0 <= t && t < 6 ? vload4(0, input + input_at_2 - 56) : (char4)(0), 0, pad + pad_at);
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void fettle_conv_second(__global const char* restrict weight,
                        __global int* restrict conv_second) {
  const int thread_x = get_local_id(0);
  const int n_outer = thread_x % 2;
  const int weight_at = n_outer * 4;
  const int k = thread_x / 2;
  const int weight_at_1 = weight_at + k * 32;
  const int conv_second_at = weight_at + k * 8;
  if (thread_x < 36) {
    const int4 t = convert_int4(convert_uchar4(vload4(0, weight + weight_at_1))) + (convert_int4(convert_uchar4(vload4(0, weight + weight_at_1 + 8))) << (int4)(8)) + (convert_int4(convert_uchar4(vload4(0, weight + weight_at_1 + 16))) << (int4)(16));
    vstore4(t + (convert_int4(convert_uchar4(vload4(0, weight + weight_at_1 + 24))) << (int4)(24)), 0, conv_second + conv_second_at);
  }
}

__kernel __attribute__((reqd_work_group_size(2, 8, 1)))
void fettle_conv(__global const char* restrict pad,
                 __global const int* restrict conv_second,
                 __global int* restrict conv) {
  const int block_x = get_group_id(0);
  const int thread_x = get_local_id(0);
  const int thread_y = get_local_id(1);
  const int conv_second_at = thread_x * 4;
  const int conv_at = thread_y * 16 + thread_x * 4;
  const int m_begin = min(block_x * 16, 20);
  const int pad_at = ((m_begin + thread_y * 2) / 6) * 64 + ((m_begin + thread_y * 2) % 6) * 8;
  const int pad_at_2 = ((m_begin + thread_y * 2 + 1) / 6) * 64 + ((m_begin + thread_y * 2 + 1) % 6) * 8;
  const int conv_at_1 = conv_at + m_begin * 8;
  int4 conv_sums[2];
  conv_sums[0] = (int4)(0);
  conv_sums[1] = (int4)(0);
  for (int k_outer = 0; k_outer < 9; ++k_outer) {
    const int pad_at_1 = pad_at + (k_outer / 3) * 64 + (k_outer % 3) * 8;
    const int conv_second_at_1 = conv_second_at + k_outer * 16;
    const int pad_at_3 = pad_at_2 + (k_outer / 3) * 64 + (k_outer % 3) * 8;
    const int4 t = (int4)(as_int(vload4(0, pad + pad_at_1)));
    const int4 t_1 = vload4(0, conv_second + conv_second_at_1);
    const int4 t_2 = conv_sums[0];
    const int4 t_3 = (int4)(arm_dot_acc(as_char4(t.s0), as_char4(t_1.s0), t_2.s0), arm_dot_acc(as_char4(t.s1), as_char4(t_1.s1), t_2.s1), arm_dot_acc(as_char4(t.s2), as_char4(t_1.s2), t_2.s2), arm_dot_acc(as_char4(t.s3), as_char4(t_1.s3), t_2.s3));
    conv_sums[0] = t_3;
    const int4 t_4 = (int4)(as_int(vload4(0, pad + pad_at_3)));
    const int4 t_5 = vload4(0, conv_second + conv_second_at_1);
    const int4 t_6 = conv_sums[1];
    const int4 t_7 = (int4)(arm_dot_acc(as_char4(t_4.s0), as_char4(t_5.s0), t_6.s0), arm_dot_acc(as_char4(t_4.s1), as_char4(t_5.s1), t_6.s1), arm_dot_acc(as_char4(t_4.s2), as_char4(t_5.s2), t_6.s2), arm_dot_acc(as_char4(t_4.s3), as_char4(t_5.s3), t_6.s3));
    conv_sums[1] = t_7;
    const int4 t_8 = (int4)(as_int(vload4(0, pad + pad_at_1 + 4)));
    const int4 t_9 = vload4(0, conv_second + conv_second_at_1 + 8);
    const int4 t_10 = conv_sums[0];
    const int4 t_11 = (int4)(arm_dot_acc(as_char4(t_8.s0), as_char4(t_9.s0), t_10.s0), arm_dot_acc(as_char4(t_8.s1), as_char4(t_9.s1), t_10.s1), arm_dot_acc(as_char4(t_8.s2), as_char4(t_9.s2), t_10.s2), arm_dot_acc(as_char4(t_8.s3), as_char4(t_9.s3), t_10.s3));
    conv_sums[0] = t_11;
    const int4 t_12 = (int4)(as_int(vload4(0, pad + pad_at_3 + 4)));
    const int4 t_13 = vload4(0, conv_second + conv_second_at_1 + 8);
    const int4 t_14 = conv_sums[1];
    const int4 t_15 = (int4)(arm_dot_acc(as_char4(t_12.s0), as_char4(t_13.s0), t_14.s0), arm_dot_acc(as_char4(t_12.s1), as_char4(t_13.s1), t_14.s1), arm_dot_acc(as_char4(t_12.s2), as_char4(t_13.s2), t_14.s2), arm_dot_acc(as_char4(t_12.s3), as_char4(t_13.s3), t_14.s3));
    conv_sums[1] = t_15;
  }
  vstore4(conv_sums[0], 0, conv + conv_at_1);
  vstore4(conv_sums[1], 0, conv + conv_at_1 + 8);
}
