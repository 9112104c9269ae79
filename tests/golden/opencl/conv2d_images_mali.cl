// OpenCL C 1.2, written by fettle

float4 max_or_nan_float4(float4 a, float4 b) {
  return (a > b | a != a) ? a : b;
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void fettle_weight_winograd(__read_only image1d_buffer_t weight, int weight_begin,
                            __global half* restrict weight_winograd) {
  const int thread_x = get_local_id(0);
  const int oc_outer = thread_x % 4;
  const int weight_winograd_at = oc_outer * 4;
  const int ic = thread_x / 4;
  const int weight_at = oc_outer + ic * 4;
  const int weight_winograd_at_1 = weight_winograd_at + ic * 16;
  if (thread_x < 32) {
    float4 weight_rows[12];
    weight_rows[0] = read_imagef(weight, weight_begin + weight_at) * (float4)(-1.0f);
    const float4 t = mad(read_imagef(weight, weight_begin + weight_at + 96), (float4)(0.5f), mad(read_imagef(weight, weight_begin + weight_at + 192), (float4)(0.5f), read_imagef(weight, weight_begin + weight_at) * (float4)(0.5f)));
    weight_rows[3] = t;
    const float4 t_1 = mad(read_imagef(weight, weight_begin + weight_at + 192), (float4)(0.5f), read_imagef(weight, weight_begin + weight_at) * (float4)(0.5f)) - read_imagef(weight, weight_begin + weight_at + 96) * (float4)(0.5f);
    weight_rows[6] = t_1;
    weight_rows[9] = read_imagef(weight, weight_begin + weight_at + 192);
    weight_rows[1] = read_imagef(weight, weight_begin + weight_at + 32) * (float4)(-1.0f);
    const float4 t_2 = mad(read_imagef(weight, weight_begin + weight_at + 128), (float4)(0.5f), mad(read_imagef(weight, weight_begin + weight_at + 224), (float4)(0.5f), read_imagef(weight, weight_begin + weight_at + 32) * (float4)(0.5f)));
    weight_rows[4] = t_2;
    const float4 t_3 = mad(read_imagef(weight, weight_begin + weight_at + 224), (float4)(0.5f), read_imagef(weight, weight_begin + weight_at + 32) * (float4)(0.5f)) - read_imagef(weight, weight_begin + weight_at + 128) * (float4)(0.5f);
    weight_rows[7] = t_3;
    weight_rows[10] = read_imagef(weight, weight_begin + weight_at + 224);
    weight_rows[2] = read_imagef(weight, weight_begin + weight_at + 64) * (float4)(-1.0f);
    const float4 t_4 = mad(read_imagef(weight, weight_begin + weight_at + 160), (float4)(0.5f), mad(read_imagef(weight, weight_begin + weight_at + 256), (float4)(0.5f), read_imagef(weight, weight_begin + weight_at + 64) * (float4)(0.5f)));
    weight_rows[5] = t_4;
    const float4 t_5 = mad(read_imagef(weight, weight_begin + weight_at + 256), (float4)(0.5f), read_imagef(weight, weight_begin + weight_at + 64) * (float4)(0.5f)) - read_imagef(weight, weight_begin + weight_at + 160) * (float4)(0.5f);
    weight_rows[8] = t_5;
    weight_rows[11] = read_imagef(weight, weight_begin + weight_at + 256);
    vstore_half4(weight_rows[0] * (float4)(-1.0f), 0, weight_winograd + weight_winograd_at_1);
    vstore_half4(mad(weight_rows[1], (float4)(0.5f), mad(weight_rows[2], (float4)(0.5f), weight_rows[0] * (float4)(0.5f))), 0, weight_winograd + weight_winograd_at_1 + 128);
    vstore_half4(mad(weight_rows[2], (float4)(0.5f), weight_rows[0] * (float4)(0.5f)) - weight_rows[1] * (float4)(0.5f), 0, weight_winograd + weight_winograd_at_1 + 256);
    vstore_half4(weight_rows[2], 0, weight_winograd + weight_winograd_at_1 + 384);
    vstore_half4(weight_rows[3] * (float4)(-1.0f), 0, weight_winograd + weight_winograd_at_1 + 512);
    vstore_half4(mad(weight_rows[4], (float4)(0.5f), mad(weight_rows[5], (float4)(0.5f), weight_rows[3] * (float4)(0.5f))), 0, weight_winograd + weight_winograd_at_1 + 640);
    vstore_half4(mad(weight_rows[5], (float4)(0.5f), weight_rows[3] * (float4)(0.5f)) - weight_rows[4] * (float4)(0.5f), 0, weight_winograd + weight_winograd_at_1 + 768);
    vstore_half4(weight_rows[5], 0, weight_winograd + weight_winograd_at_1 + 896);
    vstore_half4(weight_rows[6] * (float4)(-1.0f), 0, weight_winograd + weight_winograd_at_1 + 1024);
    vstore_half4(mad(weight_rows[7], (float4)(0.5f), mad(weight_rows[8], (float4)(0.5f), weight_rows[6] * (float4)(0.5f))), 0, weight_winograd + weight_winograd_at_1 + 1152);
    vstore_half4(mad(weight_rows[8], (float4)(0.5f), weight_rows[6] * (float4)(0.5f)) - weight_rows[7] * (float4)(0.5f), 0, weight_winograd + weight_winograd_at_1 + 1280);
    vstore_half4(weight_rows[8], 0, weight_winograd + weight_winograd_at_1 + 1408);
    vstore_half4(weight_rows[9] * (float4)(-1.0f), 0, weight_winograd + weight_winograd_at_1 + 1536);
    vstore_half4(mad(weight_rows[10], (float4)(0.5f), mad(weight_rows[11], (float4)(0.5f), weight_rows[9] * (float4)(0.5f))), 0, weight_winograd + weight_winograd_at_1 + 1664);
    vstore_half4(mad(weight_rows[11], (float4)(0.5f), weight_rows[9] * (float4)(0.5f)) - weight_rows[10] * (float4)(0.5f), 0, weight_winograd + weight_winograd_at_1 + 1792);
    vstore_half4(weight_rows[11], 0, weight_winograd + weight_winograd_at_1 + 1920);
  }
}

__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void fettle_pad_winograd(__read_only image1d_buffer_t input, int input_begin,
                         __global half* restrict pad_winograd) {
  const int block_x = get_group_id(0);
  const int thread_x = get_local_id(0);
  const int input_at = block_x * 32;
  const int ic_outer = thread_x % 2;
  const int input_at_1 = input_at + ic_outer;
  const int pad_winograd_at = input_at + ic_outer * 4;
  const int tx = thread_x / 2;
  const int input_at_2 = input_at_1 + tx * 4;
  const int pad_winograd_at_1 = pad_winograd_at + tx * 8;
  float4 pad_rows[16];
  float4 pad_tile[4];
  pad_tile[0] = 0 <= block_x * 2 - 1 && 0 <= tx * 2 - 1 ? read_imagef(input, input_begin + input_at_2 - 18) : (float4)(0);
  pad_tile[1] = 0 <= tx * 2 - 1 ? read_imagef(input, input_begin + input_at_2 - 2) : (float4)(0);
  pad_tile[2] = 0 <= tx * 2 - 1 ? read_imagef(input, input_begin + input_at_2 + 14) : (float4)(0);
  pad_tile[3] = block_x * 2 + 2 < 8 && 0 <= tx * 2 - 1 ? read_imagef(input, input_begin + input_at_2 + 30) : (float4)(0);
  pad_rows[0] = pad_tile[2] - pad_tile[0];
  pad_rows[4] = pad_tile[2] + pad_tile[1];
  pad_rows[8] = pad_tile[2] - pad_tile[1];
  pad_rows[12] = pad_tile[3] - pad_tile[1];
  pad_tile[0] = 0 <= block_x * 2 - 1 ? read_imagef(input, input_begin + input_at_2 - 16) : (float4)(0);
  pad_tile[1] = read_imagef(input, input_begin + input_at_2);
  pad_tile[2] = read_imagef(input, input_begin + input_at_2 + 16);
  pad_tile[3] = block_x * 2 + 2 < 8 ? read_imagef(input, input_begin + input_at_2 + 32) : (float4)(0);
  pad_rows[1] = pad_tile[2] - pad_tile[0];
  pad_rows[5] = pad_tile[2] + pad_tile[1];
  pad_rows[9] = pad_tile[2] - pad_tile[1];
  pad_rows[13] = pad_tile[3] - pad_tile[1];
  pad_tile[0] = 0 <= block_x * 2 - 1 ? read_imagef(input, input_begin + input_at_2 - 14) : (float4)(0);
  pad_tile[1] = read_imagef(input, input_begin + input_at_2 + 2);
  pad_tile[2] = read_imagef(input, input_begin + input_at_2 + 18);
  pad_tile[3] = block_x * 2 + 2 < 8 ? read_imagef(input, input_begin + input_at_2 + 34) : (float4)(0);
  pad_rows[2] = pad_tile[2] - pad_tile[0];
  pad_rows[6] = pad_tile[2] + pad_tile[1];
  pad_rows[10] = pad_tile[2] - pad_tile[1];
  pad_rows[14] = pad_tile[3] - pad_tile[1];
  pad_tile[0] = 0 <= block_x * 2 - 1 && tx * 2 + 2 < 8 ? read_imagef(input, input_begin + input_at_2 - 12) : (float4)(0);
  pad_tile[1] = tx * 2 + 2 < 8 ? read_imagef(input, input_begin + input_at_2 + 4) : (float4)(0);
  pad_tile[2] = tx * 2 + 2 < 8 ? read_imagef(input, input_begin + input_at_2 + 20) : (float4)(0);
  pad_tile[3] = block_x * 2 + 2 < 8 && tx * 2 + 2 < 8 ? read_imagef(input, input_begin + input_at_2 + 36) : (float4)(0);
  pad_rows[3] = pad_tile[2] - pad_tile[0];
  pad_rows[7] = pad_tile[2] + pad_tile[1];
  pad_rows[11] = pad_tile[2] - pad_tile[1];
  pad_rows[15] = pad_tile[3] - pad_tile[1];
  vstore_half4(pad_rows[2] - pad_rows[0], 0, pad_winograd + pad_winograd_at_1);
  vstore_half4(pad_rows[2] + pad_rows[1], 0, pad_winograd + pad_winograd_at_1 + 128);
  vstore_half4(pad_rows[2] - pad_rows[1], 0, pad_winograd + pad_winograd_at_1 + 256);
  vstore_half4(pad_rows[3] - pad_rows[1], 0, pad_winograd + pad_winograd_at_1 + 384);
  vstore_half4(pad_rows[6] - pad_rows[4], 0, pad_winograd + pad_winograd_at_1 + 512);
  vstore_half4(pad_rows[6] + pad_rows[5], 0, pad_winograd + pad_winograd_at_1 + 640);
  vstore_half4(pad_rows[6] - pad_rows[5], 0, pad_winograd + pad_winograd_at_1 + 768);
  vstore_half4(pad_rows[7] - pad_rows[5], 0, pad_winograd + pad_winograd_at_1 + 896);
  vstore_half4(pad_rows[10] - pad_rows[8], 0, pad_winograd + pad_winograd_at_1 + 1024);
  vstore_half4(pad_rows[10] + pad_rows[9], 0, pad_winograd + pad_winograd_at_1 + 1152);
  vstore_half4(pad_rows[10] - pad_rows[9], 0, pad_winograd + pad_winograd_at_1 + 1280);
  vstore_half4(pad_rows[11] - pad_rows[9], 0, pad_winograd + pad_winograd_at_1 + 1408);
  vstore_half4(pad_rows[14] - pad_rows[12], 0, pad_winograd + pad_winograd_at_1 + 1536);
  vstore_half4(pad_rows[14] + pad_rows[13], 0, pad_winograd + pad_winograd_at_1 + 1664);
  vstore_half4(pad_rows[14] - pad_rows[13], 0, pad_winograd + pad_winograd_at_1 + 1792);
  vstore_half4(pad_rows[15] - pad_rows[13], 0, pad_winograd + pad_winograd_at_1 + 1920);
}

__kernel __attribute__((reqd_work_group_size(2, 4, 1)))
void fettle_conv_stored(__read_only image1d_buffer_t weight_winograd, int weight_winograd_begin,
                        __global const half* restrict pad_winograd,
                        __global half* restrict conv_stored) {
  const int block_x = get_group_id(0);
  const int block_z = get_group_id(2);
  const int thread_x = get_local_id(0);
  const int thread_y = get_local_id(1);
  const int pad_winograd_at = block_z * 128 + block_x * 64 + thread_y * 16;
  const int weight_winograd_at = block_z * 32 + thread_x * 2;
  const int conv_stored_at = block_z * 256 + block_x * 128 + thread_y * 32 + thread_x * 8;
  float4 conv_sums[4];
  conv_sums[0] = (float4)(0.0f);
  conv_sums[1] = (float4)(0.0f);
  conv_sums[2] = (float4)(0.0f);
  conv_sums[3] = (float4)(0.0f);
  for (int k_outer = 0; k_outer < 2; ++k_outer) {
    const int pad_winograd_at_1 = pad_winograd_at + k_outer * 4;
    const int weight_winograd_at_1 = weight_winograd_at + k_outer * 16;
    conv_sums[0] = mad((float4)(vload_half(pad_winograd_at_1, pad_winograd)), read_imagef(weight_winograd, weight_winograd_begin + weight_winograd_at_1), conv_sums[0]);
    conv_sums[1] = mad((float4)(vload_half(pad_winograd_at_1, pad_winograd)), read_imagef(weight_winograd, weight_winograd_begin + weight_winograd_at_1 + 1), conv_sums[1]);
    conv_sums[2] = mad((float4)(vload_half(pad_winograd_at_1 + 8, pad_winograd)), read_imagef(weight_winograd, weight_winograd_begin + weight_winograd_at_1), conv_sums[2]);
    conv_sums[3] = mad((float4)(vload_half(pad_winograd_at_1 + 8, pad_winograd)), read_imagef(weight_winograd, weight_winograd_begin + weight_winograd_at_1 + 1), conv_sums[3]);
    conv_sums[0] = mad((float4)(vload_half(pad_winograd_at_1 + 1, pad_winograd)), read_imagef(weight_winograd, weight_winograd_begin + weight_winograd_at_1 + 4), conv_sums[0]);
    conv_sums[1] = mad((float4)(vload_half(pad_winograd_at_1 + 1, pad_winograd)), read_imagef(weight_winograd, weight_winograd_begin + weight_winograd_at_1 + 5), conv_sums[1]);
    conv_sums[2] = mad((float4)(vload_half(pad_winograd_at_1 + 9, pad_winograd)), read_imagef(weight_winograd, weight_winograd_begin + weight_winograd_at_1 + 4), conv_sums[2]);
    conv_sums[3] = mad((float4)(vload_half(pad_winograd_at_1 + 9, pad_winograd)), read_imagef(weight_winograd, weight_winograd_begin + weight_winograd_at_1 + 5), conv_sums[3]);
    conv_sums[0] = mad((float4)(vload_half(pad_winograd_at_1 + 2, pad_winograd)), read_imagef(weight_winograd, weight_winograd_begin + weight_winograd_at_1 + 8), conv_sums[0]);
    conv_sums[1] = mad((float4)(vload_half(pad_winograd_at_1 + 2, pad_winograd)), read_imagef(weight_winograd, weight_winograd_begin + weight_winograd_at_1 + 9), conv_sums[1]);
    conv_sums[2] = mad((float4)(vload_half(pad_winograd_at_1 + 10, pad_winograd)), read_imagef(weight_winograd, weight_winograd_begin + weight_winograd_at_1 + 8), conv_sums[2]);
    conv_sums[3] = mad((float4)(vload_half(pad_winograd_at_1 + 10, pad_winograd)), read_imagef(weight_winograd, weight_winograd_begin + weight_winograd_at_1 + 9), conv_sums[3]);
    conv_sums[0] = mad((float4)(vload_half(pad_winograd_at_1 + 3, pad_winograd)), read_imagef(weight_winograd, weight_winograd_begin + weight_winograd_at_1 + 12), conv_sums[0]);
    conv_sums[1] = mad((float4)(vload_half(pad_winograd_at_1 + 3, pad_winograd)), read_imagef(weight_winograd, weight_winograd_begin + weight_winograd_at_1 + 13), conv_sums[1]);
    conv_sums[2] = mad((float4)(vload_half(pad_winograd_at_1 + 11, pad_winograd)), read_imagef(weight_winograd, weight_winograd_begin + weight_winograd_at_1 + 12), conv_sums[2]);
    conv_sums[3] = mad((float4)(vload_half(pad_winograd_at_1 + 11, pad_winograd)), read_imagef(weight_winograd, weight_winograd_begin + weight_winograd_at_1 + 13), conv_sums[3]);
  }
  vstore_half4(conv_sums[0], 0, conv_stored + conv_stored_at);
  vstore_half4(conv_sums[1], 0, conv_stored + conv_stored_at + 4);
  vstore_half4(conv_sums[2], 0, conv_stored + conv_stored_at + 16);
  vstore_half4(conv_sums[3], 0, conv_stored + conv_stored_at + 20);
}

__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void fettle_rounded(__read_only image1d_buffer_t conv_stored, int conv_stored_begin,
                    __read_only image1d_buffer_t bias, int bias_begin,
                    __global half* restrict rounded) {
  const int block_x = get_group_id(0);
  const int thread_x = get_local_id(0);
  const int oc_outer = thread_x % 4;
  const int rounded_at = oc_outer * 4;
  const int tx = (block_x % 2) * 2 + thread_x / 4;
  const int conv_stored_at = oc_outer + tx * 4;
  const int rounded_at_1 = rounded_at + tx * 32;
  const int ty = block_x / 2;
  const int conv_stored_at_1 = conv_stored_at + ty * 16;
  const int rounded_at_2 = rounded_at_1 + ty * 256;
  float4 conv_rows[8];
  const float4 t = read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1) + (read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 256) + read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 512));
  conv_rows[0] = t;
  const float4 t_1 = read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 256) - read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 512) + read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 768);
  conv_rows[4] = t_1;
  const float4 t_2 = read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 64) + (read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 320) + read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 576));
  conv_rows[1] = t_2;
  const float4 t_3 = read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 320) - read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 576) + read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 832);
  conv_rows[5] = t_3;
  const float4 t_4 = read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 128) + (read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 384) + read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 640));
  conv_rows[2] = t_4;
  const float4 t_5 = read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 384) - read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 640) + read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 896);
  conv_rows[6] = t_5;
  const float4 t_6 = read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 192) + (read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 448) + read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 704));
  conv_rows[3] = t_6;
  const float4 t_7 = read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 448) - read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 704) + read_imagef(conv_stored, conv_stored_begin + conv_stored_at_1 + 960);
  conv_rows[7] = t_7;
  vstore_half4(max_or_nan_float4(conv_rows[0] + (conv_rows[1] + conv_rows[2]) + read_imagef(bias, bias_begin + oc_outer), (float4)(0.0f)), 0, rounded + rounded_at_2);
  vstore_half4(max_or_nan_float4(conv_rows[1] - conv_rows[2] + conv_rows[3] + read_imagef(bias, bias_begin + oc_outer), (float4)(0.0f)), 0, rounded + rounded_at_2 + 16);
  vstore_half4(max_or_nan_float4(conv_rows[4] + (conv_rows[5] + conv_rows[6]) + read_imagef(bias, bias_begin + oc_outer), (float4)(0.0f)), 0, rounded + rounded_at_2 + 128);
  vstore_half4(max_or_nan_float4(conv_rows[5] - conv_rows[6] + conv_rows[7] + read_imagef(bias, bias_begin + oc_outer), (float4)(0.0f)), 0, rounded + rounded_at_2 + 144);
}
