// OpenCL C 1.2, written by fettle

float4 max_or_nan_float4(float4 a, float4 b) {
  return (a > b | a != a) ? a : b;
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void fettle_pad(__global const float* restrict input,
                __global float* restrict pad) {
  const int thread_x = get_local_id(0);
  const int x = thread_x % 10;
  const int input_at = x * 4;
  const int y = thread_x / 10;
  const int input_at_1 = input_at + y * 32;
  const int pad_at = input_at + y * 40;
  if (thread_x < 100) {
    const int t = x - 1;
    const int t_1 = y - 1;
    vstore4(0 <= t_1 && t_1 < 8 && 0 <= t && t < 8 ? vload4(0, input + input_at_1 - 36) : (float4)(0), 0, pad + pad_at);
  }
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void fettle_conv_second(__global const float* restrict weight,
                        __global float* restrict conv_second) {
  const int block_x = get_group_id(0);
  const int thread_x = get_local_id(0);
  const int n_outer = thread_x % 4;
  const int weight_at = n_outer * 4;
  const int k = block_x * 32 + thread_x / 4;
  const int weight_at_1 = weight_at + k * 16;
  if (block_x * 128 + thread_x < 144) {
    vstore4(vload4(0, weight + weight_at_1), 0, conv_second + weight_at_1);
  }
}

__kernel __attribute__((reqd_work_group_size(2, 8, 1)))
void fettle_activated(__global const float* restrict pad,
                      __global const float* restrict bias,
                      __global const float* restrict conv_second,
                      __global float* restrict activated) {
  const int block_x = get_group_id(0);
  const int thread_x = get_local_id(0);
  const int thread_y = get_local_id(1);
  const int pad_at = block_x * 80 + (thread_y / 4) * 40 + (thread_y % 4) * 8;
  const int conv_second_at = thread_x * 8;
  const int activated_at = block_x * 256 + thread_y * 32 + thread_x * 8;
  float4 conv_sums[4];
  conv_sums[0] = (float4)(0.0f);
  conv_sums[1] = (float4)(0.0f);
  conv_sums[2] = (float4)(0.0f);
  conv_sums[3] = (float4)(0.0f);
  for (int k_outer = 0; k_outer < 9; ++k_outer) {
    const int pad_at_1 = pad_at + (k_outer / 3) * 40 + (k_outer % 3) * 4;
    const int conv_second_at_1 = conv_second_at + k_outer * 64;
    conv_sums[0] = mad((float4)(pad[pad_at_1]), vload4(0, conv_second + conv_second_at_1), conv_sums[0]);
    conv_sums[1] = mad((float4)(pad[pad_at_1]), vload4(0, conv_second + conv_second_at_1 + 4), conv_sums[1]);
    conv_sums[2] = mad((float4)(pad[pad_at_1 + 4]), vload4(0, conv_second + conv_second_at_1), conv_sums[2]);
    conv_sums[3] = mad((float4)(pad[pad_at_1 + 4]), vload4(0, conv_second + conv_second_at_1 + 4), conv_sums[3]);
    conv_sums[0] = mad((float4)(pad[pad_at_1 + 1]), vload4(0, conv_second + conv_second_at_1 + 16), conv_sums[0]);
    conv_sums[1] = mad((float4)(pad[pad_at_1 + 1]), vload4(0, conv_second + conv_second_at_1 + 20), conv_sums[1]);
    conv_sums[2] = mad((float4)(pad[pad_at_1 + 5]), vload4(0, conv_second + conv_second_at_1 + 16), conv_sums[2]);
    conv_sums[3] = mad((float4)(pad[pad_at_1 + 5]), vload4(0, conv_second + conv_second_at_1 + 20), conv_sums[3]);
    conv_sums[0] = mad((float4)(pad[pad_at_1 + 2]), vload4(0, conv_second + conv_second_at_1 + 32), conv_sums[0]);
    conv_sums[1] = mad((float4)(pad[pad_at_1 + 2]), vload4(0, conv_second + conv_second_at_1 + 36), conv_sums[1]);
    conv_sums[2] = mad((float4)(pad[pad_at_1 + 6]), vload4(0, conv_second + conv_second_at_1 + 32), conv_sums[2]);
    conv_sums[3] = mad((float4)(pad[pad_at_1 + 6]), vload4(0, conv_second + conv_second_at_1 + 36), conv_sums[3]);
    conv_sums[0] = mad((float4)(pad[pad_at_1 + 3]), vload4(0, conv_second + conv_second_at_1 + 48), conv_sums[0]);
    conv_sums[1] = mad((float4)(pad[pad_at_1 + 3]), vload4(0, conv_second + conv_second_at_1 + 52), conv_sums[1]);
    conv_sums[2] = mad((float4)(pad[pad_at_1 + 7]), vload4(0, conv_second + conv_second_at_1 + 48), conv_sums[2]);
    conv_sums[3] = mad((float4)(pad[pad_at_1 + 7]), vload4(0, conv_second + conv_second_at_1 + 52), conv_sums[3]);
  }
  vstore4(max_or_nan_float4(conv_sums[0] + vload4(0, bias + conv_second_at), (float4)(0.0f)), 0, activated + activated_at);
  vstore4(max_or_nan_float4(conv_sums[1] + vload4(0, bias + conv_second_at + 4), (float4)(0.0f)), 0, activated + activated_at + 4);
  vstore4(max_or_nan_float4(conv_sums[2] + vload4(0, bias + conv_second_at), (float4)(0.0f)), 0, activated + activated_at + 16);
  vstore4(max_or_nan_float4(conv_sums[3] + vload4(0, bias + conv_second_at + 4), (float4)(0.0f)), 0, activated + activated_at + 20);
}
