// OpenCL C 1.2, written by fettle

__kernel __attribute__((reqd_work_group_size(4, 1, 1)))
void fettle_rounded(__global const half* restrict input,
                    __global const half* restrict weight,
                    __global const float* restrict bias,
                    __global half* restrict rounded) {
  const int block_x = get_group_id(0);
  const int thread_x = get_local_id(0);
  const int c_outer = thread_x % 2;
  const int input_at = c_outer * 4;
  const int x = (block_x * 2 + thread_x / 2) % 3;
  const int input_at_1 = input_at + x * 16;
  const int rounded_at = input_at + x * 8;
  const int y = (block_x * 4 + thread_x) / 6;
  const int input_at_2 = input_at_1 + y * 96;
  const int rounded_at_1 = rounded_at + y * 24;
  if (block_x * 4 + thread_x < 18) {
    float4 conv;
    conv = (float4)(0.0f);
    const int t = y * 2 - 1;
    conv = mad(0 <= t && t < 5 && 0 <= x * 2 - 1 ? vload_half4(0, input + input_at_2 - 56) : (float4)(0), vload_half4(0, weight + input_at), conv);
    const int t_1 = y * 2 - 1;
    conv = mad(0 <= t_1 && t_1 < 5 ? vload_half4(0, input + input_at_2 - 48) : (float4)(0), vload_half4(0, weight + input_at + 8), conv);
    const int t_2 = y * 2 - 1;
    conv = mad(0 <= t_2 && t_2 < 5 ? vload_half4(0, input + input_at_2 - 40) : (float4)(0), vload_half4(0, weight + input_at + 16), conv);
    conv = mad(y * 2 < 5 && 0 <= x * 2 - 1 ? vload_half4(0, input + input_at_2 - 8) : (float4)(0), vload_half4(0, weight + input_at + 24), conv);
    conv = mad(y * 2 < 5 ? vload_half4(0, input + input_at_2) : (float4)(0), vload_half4(0, weight + input_at + 32), conv);
    conv = mad(y * 2 < 5 ? vload_half4(0, input + input_at_2 + 8) : (float4)(0), vload_half4(0, weight + input_at + 40), conv);
    conv = mad(y * 2 + 1 < 5 && 0 <= x * 2 - 1 ? vload_half4(0, input + input_at_2 + 40) : (float4)(0), vload_half4(0, weight + input_at + 48), conv);
    conv = mad(y * 2 + 1 < 5 ? vload_half4(0, input + input_at_2 + 48) : (float4)(0), vload_half4(0, weight + input_at + 56), conv);
    conv = mad(y * 2 + 1 < 5 ? vload_half4(0, input + input_at_2 + 56) : (float4)(0), vload_half4(0, weight + input_at + 64), conv);
    vstore_half4(conv + vload4(0, bias + input_at), 0, rounded + rounded_at_1);
  }
}
