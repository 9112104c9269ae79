// Layouts in blocks of channels, as accelerators take them:
//   conv2d  images [n][c / 16][y][x][16], weights
//           [out / 16][in / 16][kernel y][kernel x][16 out][16 in]
//   max_pool2d  the images of conv2d
//   dense   input [n][in / 16][16], weights [out / 16][in / 16][16 out][16 in]
// Constants per channel of their tails lie as [out / 16][16].
#pragma once

#include "host/space/operators/operator_call.h"

namespace fettle::space {

inline constexpr const char* kPackedImages = "NCHW1n16c";
inline constexpr const char* kPackedRows = "1n16c";
inline constexpr std::int64_t kChannelBlock = 16;

// Unsupported: channels that are no whole blocks.
Result<void> require_blocks(const char* op, std::int64_t in, std::int64_t out);

// Of a checked call of that layout.
ComputeDag packed_conv2d_dag(const OperatorCall& call);
ComputeDag packed_max_pool2d_dag(const OperatorCall& call);
ComputeDag packed_dense_dag(const OperatorCall& call);

}  // namespace fettle::space
