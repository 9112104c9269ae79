// OpenCL C 1.2, written by fettle

float4 max_or_nan_float4(float4 a, float4 b) {
  return (a > b | a != a) ? a : b;
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void fettle_weight_winograd(__global const float* restrict weight,
                            __global float* restrict weight_winograd) {
  const int thread_x = get_local_id(0);
  const int oc_outer = thread_x % 4;
  const int weight_at = oc_outer * 4;
  const int ic = thread_x / 4;
  const int weight_at_1 = weight_at + ic * 16;
  if (thread_x < 32) {
    float4 weight_rows[12];
    weight_rows[0] = vload4(0, weight + weight_at_1) * (float4)(-1.0f);
    const float4 t = mad(vload4(0, weight + weight_at_1 + 384), (float4)(0.5f), mad(vload4(0, weight + weight_at_1 + 768), (float4)(0.5f), vload4(0, weight + weight_at_1) * (float4)(0.5f)));
    weight_rows[3] = t;
    const float4 t_1 = mad(vload4(0, weight + weight_at_1 + 768), (float4)(0.5f), vload4(0, weight + weight_at_1) * (float4)(0.5f)) - vload4(0, weight + weight_at_1 + 384) * (float4)(0.5f);
    weight_rows[6] = t_1;
    weight_rows[9] = vload4(0, weight + weight_at_1 + 768);
    weight_rows[1] = vload4(0, weight + weight_at_1 + 128) * (float4)(-1.0f);
    const float4 t_2 = mad(vload4(0, weight + weight_at_1 + 512), (float4)(0.5f), mad(vload4(0, weight + weight_at_1 + 896), (float4)(0.5f), vload4(0, weight + weight_at_1 + 128) * (float4)(0.5f)));
    weight_rows[4] = t_2;
    const float4 t_3 = mad(vload4(0, weight + weight_at_1 + 896), (float4)(0.5f), vload4(0, weight + weight_at_1 + 128) * (float4)(0.5f)) - vload4(0, weight + weight_at_1 + 512) * (float4)(0.5f);
    weight_rows[7] = t_3;
    weight_rows[10] = vload4(0, weight + weight_at_1 + 896);
    weight_rows[2] = vload4(0, weight + weight_at_1 + 256) * (float4)(-1.0f);
    const float4 t_4 = mad(vload4(0, weight + weight_at_1 + 640), (float4)(0.5f), mad(vload4(0, weight + weight_at_1 + 1024), (float4)(0.5f), vload4(0, weight + weight_at_1 + 256) * (float4)(0.5f)));
    weight_rows[5] = t_4;
    const float4 t_5 = mad(vload4(0, weight + weight_at_1 + 1024), (float4)(0.5f), vload4(0, weight + weight_at_1 + 256) * (float4)(0.5f)) - vload4(0, weight + weight_at_1 + 640) * (float4)(0.5f);
    weight_rows[8] = t_5;
    weight_rows[11] = vload4(0, weight + weight_at_1 + 1024);
    vstore4(weight_rows[0] * (float4)(-1.0f), 0, weight_winograd + weight_at_1);
    vstore4(mad(weight_rows[1], (float4)(0.5f), mad(weight_rows[2], (float4)(0.5f), weight_rows[0] * (float4)(0.5f))), 0, weight_winograd + weight_at_1 + 128);
    vstore4(mad(weight_rows[2], (float4)(0.5f), weight_rows[0] * (float4)(0.5f)) - weight_rows[1] * (float4)(0.5f), 0, weight_winograd + weight_at_1 + 256);
    vstore4(weight_rows[2], 0, weight_winograd + weight_at_1 + 384);
    vstore4(weight_rows[3] * (float4)(-1.0f), 0, weight_winograd + weight_at_1 + 512);
    vstore4(mad(weight_rows[4], (float4)(0.5f), mad(weight_rows[5], (float4)(0.5f), weight_rows[3] * (float4)(0.5f))), 0, weight_winograd + weight_at_1 + 640);
    vstore4(mad(weight_rows[5], (float4)(0.5f), weight_rows[3] * (float4)(0.5f)) - weight_rows[4] * (float4)(0.5f), 0, weight_winograd + weight_at_1 + 768);
    vstore4(weight_rows[5], 0, weight_winograd + weight_at_1 + 896);
    vstore4(weight_rows[6] * (float4)(-1.0f), 0, weight_winograd + weight_at_1 + 1024);
    vstore4(mad(weight_rows[7], (float4)(0.5f), mad(weight_rows[8], (float4)(0.5f), weight_rows[6] * (float4)(0.5f))), 0, weight_winograd + weight_at_1 + 1152);
    vstore4(mad(weight_rows[8], (float4)(0.5f), weight_rows[6] * (float4)(0.5f)) - weight_rows[7] * (float4)(0.5f), 0, weight_winograd + weight_at_1 + 1280);
    vstore4(weight_rows[8], 0, weight_winograd + weight_at_1 + 1408);
    vstore4(weight_rows[9] * (float4)(-1.0f), 0, weight_winograd + weight_at_1 + 1536);
    vstore4(mad(weight_rows[10], (float4)(0.5f), mad(weight_rows[11], (float4)(0.5f), weight_rows[9] * (float4)(0.5f))), 0, weight_winograd + weight_at_1 + 1664);
    vstore4(mad(weight_rows[11], (float4)(0.5f), weight_rows[9] * (float4)(0.5f)) - weight_rows[10] * (float4)(0.5f), 0, weight_winograd + weight_at_1 + 1792);
    vstore4(weight_rows[11], 0, weight_winograd + weight_at_1 + 1920);
  }
}

__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void fettle_pad_winograd(__global const float* restrict input,
                         __global float* restrict pad_winograd) {
  const int block_x = get_group_id(0);
  const int thread_x = get_local_id(0);
  const int input_at = block_x * 128;
  const int pad_winograd_at = block_x * 32;
  const int ic_outer = thread_x % 2;
  const int input_at_1 = input_at + ic_outer * 4;
  const int pad_winograd_at_1 = pad_winograd_at + ic_outer * 4;
  const int tx = thread_x / 2;
  const int input_at_2 = input_at_1 + tx * 16;
  const int pad_winograd_at_2 = pad_winograd_at_1 + tx * 8;
  float4 pad_rows[16];
  float4 pad_tile[4];
  pad_tile[0] = 0 <= block_x * 2 - 1 && 0 <= tx * 2 - 1 ? vload4(0, input + input_at_2 - 72) : (float4)(0);
  pad_tile[1] = 0 <= tx * 2 - 1 ? vload4(0, input + input_at_2 - 8) : (float4)(0);
  pad_tile[2] = 0 <= tx * 2 - 1 ? vload4(0, input + input_at_2 + 56) : (float4)(0);
  pad_tile[3] = block_x * 2 + 2 < 8 && 0 <= tx * 2 - 1 ? vload4(0, input + input_at_2 + 120) : (float4)(0);
  pad_rows[0] = pad_tile[2] - pad_tile[0];
  pad_rows[4] = pad_tile[2] + pad_tile[1];
  pad_rows[8] = pad_tile[2] - pad_tile[1];
  pad_rows[12] = pad_tile[3] - pad_tile[1];
  pad_tile[0] = 0 <= block_x * 2 - 1 ? vload4(0, input + input_at_2 - 64) : (float4)(0);
  pad_tile[1] = vload4(0, input + input_at_2);
  pad_tile[2] = vload4(0, input + input_at_2 + 64);
  pad_tile[3] = block_x * 2 + 2 < 8 ? vload4(0, input + input_at_2 + 128) : (float4)(0);
  pad_rows[1] = pad_tile[2] - pad_tile[0];
  pad_rows[5] = pad_tile[2] + pad_tile[1];
  pad_rows[9] = pad_tile[2] - pad_tile[1];
  pad_rows[13] = pad_tile[3] - pad_tile[1];
  pad_tile[0] = 0 <= block_x * 2 - 1 ? vload4(0, input + input_at_2 - 56) : (float4)(0);
  pad_tile[1] = vload4(0, input + input_at_2 + 8);
  pad_tile[2] = vload4(0, input + input_at_2 + 72);
  pad_tile[3] = block_x * 2 + 2 < 8 ? vload4(0, input + input_at_2 + 136) : (float4)(0);
  pad_rows[2] = pad_tile[2] - pad_tile[0];
  pad_rows[6] = pad_tile[2] + pad_tile[1];
  pad_rows[10] = pad_tile[2] - pad_tile[1];
  pad_rows[14] = pad_tile[3] - pad_tile[1];
  pad_tile[0] = 0 <= block_x * 2 - 1 && tx * 2 + 2 < 8 ? vload4(0, input + input_at_2 - 48) : (float4)(0);
  pad_tile[1] = tx * 2 + 2 < 8 ? vload4(0, input + input_at_2 + 16) : (float4)(0);
  pad_tile[2] = tx * 2 + 2 < 8 ? vload4(0, input + input_at_2 + 80) : (float4)(0);
  pad_tile[3] = block_x * 2 + 2 < 8 && tx * 2 + 2 < 8 ? vload4(0, input + input_at_2 + 144) : (float4)(0);
  pad_rows[3] = pad_tile[2] - pad_tile[0];
  pad_rows[7] = pad_tile[2] + pad_tile[1];
  pad_rows[11] = pad_tile[2] - pad_tile[1];
  pad_rows[15] = pad_tile[3] - pad_tile[1];
  vstore4(pad_rows[2] - pad_rows[0], 0, pad_winograd + pad_winograd_at_2);
  vstore4(pad_rows[2] + pad_rows[1], 0, pad_winograd + pad_winograd_at_2 + 128);
  vstore4(pad_rows[2] - pad_rows[1], 0, pad_winograd + pad_winograd_at_2 + 256);
  vstore4(pad_rows[3] - pad_rows[1], 0, pad_winograd + pad_winograd_at_2 + 384);
  vstore4(pad_rows[6] - pad_rows[4], 0, pad_winograd + pad_winograd_at_2 + 512);
  vstore4(pad_rows[6] + pad_rows[5], 0, pad_winograd + pad_winograd_at_2 + 640);
  vstore4(pad_rows[6] - pad_rows[5], 0, pad_winograd + pad_winograd_at_2 + 768);
  vstore4(pad_rows[7] - pad_rows[5], 0, pad_winograd + pad_winograd_at_2 + 896);
  vstore4(pad_rows[10] - pad_rows[8], 0, pad_winograd + pad_winograd_at_2 + 1024);
  vstore4(pad_rows[10] + pad_rows[9], 0, pad_winograd + pad_winograd_at_2 + 1152);
  vstore4(pad_rows[10] - pad_rows[9], 0, pad_winograd + pad_winograd_at_2 + 1280);
  vstore4(pad_rows[11] - pad_rows[9], 0, pad_winograd + pad_winograd_at_2 + 1408);
  vstore4(pad_rows[14] - pad_rows[12], 0, pad_winograd + pad_winograd_at_2 + 1536);
  vstore4(pad_rows[14] + pad_rows[13], 0, pad_winograd + pad_winograd_at_2 + 1664);
  vstore4(pad_rows[14] - pad_rows[13], 0, pad_winograd + pad_winograd_at_2 + 1792);
  vstore4(pad_rows[15] - pad_rows[13], 0, pad_winograd + pad_winograd_at_2 + 1920);
}

__kernel __attribute__((reqd_work_group_size(2, 4, 1)))
void fettle_conv(__global const float* restrict weight_winograd,
                 __global const float* restrict pad_winograd,
                 __global float* restrict conv) {
  const int block_x = get_group_id(0);
  const int block_z = get_group_id(2);
  const int thread_x = get_local_id(0);
  const int thread_y = get_local_id(1);
  const int pad_winograd_at = block_z * 128 + block_x * 64 + thread_y * 16;
  const int weight_winograd_at = block_z * 128 + thread_x * 8;
  const int conv_at = block_z * 256 + block_x * 128 + thread_y * 32 + thread_x * 8;
  float4 conv_sums[4];
  conv_sums[0] = (float4)(0.0f);
  conv_sums[1] = (float4)(0.0f);
  conv_sums[2] = (float4)(0.0f);
  conv_sums[3] = (float4)(0.0f);
  for (int k_outer = 0; k_outer < 2; ++k_outer) {
    const int pad_winograd_at_1 = pad_winograd_at + k_outer * 4;
    const int weight_winograd_at_1 = weight_winograd_at + k_outer * 64;
    conv_sums[0] = mad((float4)(pad_winograd[pad_winograd_at_1]), vload4(0, weight_winograd + weight_winograd_at_1), conv_sums[0]);
    conv_sums[1] = mad((float4)(pad_winograd[pad_winograd_at_1]), vload4(0, weight_winograd + weight_winograd_at_1 + 4), conv_sums[1]);
    conv_sums[2] = mad((float4)(pad_winograd[pad_winograd_at_1 + 8]), vload4(0, weight_winograd + weight_winograd_at_1), conv_sums[2]);
    conv_sums[3] = mad((float4)(pad_winograd[pad_winograd_at_1 + 8]), vload4(0, weight_winograd + weight_winograd_at_1 + 4), conv_sums[3]);
    conv_sums[0] = mad((float4)(pad_winograd[pad_winograd_at_1 + 1]), vload4(0, weight_winograd + weight_winograd_at_1 + 16), conv_sums[0]);
    conv_sums[1] = mad((float4)(pad_winograd[pad_winograd_at_1 + 1]), vload4(0, weight_winograd + weight_winograd_at_1 + 20), conv_sums[1]);
    conv_sums[2] = mad((float4)(pad_winograd[pad_winograd_at_1 + 9]), vload4(0, weight_winograd + weight_winograd_at_1 + 16), conv_sums[2]);
    conv_sums[3] = mad((float4)(pad_winograd[pad_winograd_at_1 + 9]), vload4(0, weight_winograd + weight_winograd_at_1 + 20), conv_sums[3]);
    conv_sums[0] = mad((float4)(pad_winograd[pad_winograd_at_1 + 2]), vload4(0, weight_winograd + weight_winograd_at_1 + 32), conv_sums[0]);
    conv_sums[1] = mad((float4)(pad_winograd[pad_winograd_at_1 + 2]), vload4(0, weight_winograd + weight_winograd_at_1 + 36), conv_sums[1]);
    conv_sums[2] = mad((float4)(pad_winograd[pad_winograd_at_1 + 10]), vload4(0, weight_winograd + weight_winograd_at_1 + 32), conv_sums[2]);
    conv_sums[3] = mad((float4)(pad_winograd[pad_winograd_at_1 + 10]), vload4(0, weight_winograd + weight_winograd_at_1 + 36), conv_sums[3]);
    conv_sums[0] = mad((float4)(pad_winograd[pad_winograd_at_1 + 3]), vload4(0, weight_winograd + weight_winograd_at_1 + 48), conv_sums[0]);
    conv_sums[1] = mad((float4)(pad_winograd[pad_winograd_at_1 + 3]), vload4(0, weight_winograd + weight_winograd_at_1 + 52), conv_sums[1]);
    conv_sums[2] = mad((float4)(pad_winograd[pad_winograd_at_1 + 11]), vload4(0, weight_winograd + weight_winograd_at_1 + 48), conv_sums[2]);
    conv_sums[3] = mad((float4)(pad_winograd[pad_winograd_at_1 + 11]), vload4(0, weight_winograd + weight_winograd_at_1 + 52), conv_sums[3]);
  }
  vstore4(conv_sums[0], 0, conv + conv_at);
  vstore4(conv_sums[1], 0, conv + conv_at + 4);
  vstore4(conv_sums[2], 0, conv + conv_at + 16);
  vstore4(conv_sums[3], 0, conv + conv_at + 20);
}

__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void fettle_activated(__global const float* restrict conv,
                      __global const float* restrict bias,
                      __global float* restrict activated) {
  const int block_x = get_group_id(0);
  const int thread_x = get_local_id(0);
  const int oc_outer = thread_x % 4;
  const int conv_at = oc_outer * 4;
  const int tx = (block_x % 2) * 2 + thread_x / 4;
  const int conv_at_1 = conv_at + tx * 16;
  const int activated_at = conv_at + tx * 32;
  const int ty = block_x / 2;
  const int conv_at_2 = conv_at_1 + ty * 64;
  const int activated_at_1 = activated_at + ty * 256;
  float4 conv_rows[8];
  conv_rows[0] = vload4(0, conv + conv_at_2) + (vload4(0, conv + conv_at_2 + 1024) + vload4(0, conv + conv_at_2 + 2048));
  conv_rows[4] = vload4(0, conv + conv_at_2 + 1024) - vload4(0, conv + conv_at_2 + 2048) + vload4(0, conv + conv_at_2 + 3072);
  conv_rows[1] = vload4(0, conv + conv_at_2 + 256) + (vload4(0, conv + conv_at_2 + 1280) + vload4(0, conv + conv_at_2 + 2304));
  conv_rows[5] = vload4(0, conv + conv_at_2 + 1280) - vload4(0, conv + conv_at_2 + 2304) + vload4(0, conv + conv_at_2 + 3328);
  conv_rows[2] = vload4(0, conv + conv_at_2 + 512) + (vload4(0, conv + conv_at_2 + 1536) + vload4(0, conv + conv_at_2 + 2560));
  conv_rows[6] = vload4(0, conv + conv_at_2 + 1536) - vload4(0, conv + conv_at_2 + 2560) + vload4(0, conv + conv_at_2 + 3584);
  conv_rows[3] = vload4(0, conv + conv_at_2 + 768) + (vload4(0, conv + conv_at_2 + 1792) + vload4(0, conv + conv_at_2 + 2816));
  conv_rows[7] = vload4(0, conv + conv_at_2 + 1792) - vload4(0, conv + conv_at_2 + 2816) + vload4(0, conv + conv_at_2 + 3840);
  vstore4(max_or_nan_float4(conv_rows[0] + (conv_rows[1] + conv_rows[2]) + vload4(0, bias + conv_at), (float4)(0.0f)), 0, activated + activated_at_1);
  vstore4(max_or_nan_float4(conv_rows[1] - conv_rows[2] + conv_rows[3] + vload4(0, bias + conv_at), (float4)(0.0f)), 0, activated + activated_at_1 + 16);
  vstore4(max_or_nan_float4(conv_rows[4] + (conv_rows[5] + conv_rows[6]) + vload4(0, bias + conv_at), (float4)(0.0f)), 0, activated + activated_at_1 + 128);
  vstore4(max_or_nan_float4(conv_rows[5] - conv_rows[6] + conv_rows[7] + vload4(0, bias + conv_at), (float4)(0.0f)), 0, activated + activated_at_1 + 144);
}
