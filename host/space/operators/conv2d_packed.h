// Layouts in blocks of channels, as accelerators take them: images [n][c / 16][y][x][16], weights
// [out / 16][in / 16][kernel y][kernel x][16 out][16 in].
#pragma once

#include "host/space/operators/operator_call.h"

namespace fettle::space {

inline constexpr const char* kPackedLayout = "NCHW1n16c";
inline constexpr std::int64_t kChannelBlock = 16;

// Of a checked conv2d of that layout. Constants per channel of its tail lie as [out / 16][16].
ComputeDag packed_conv2d_dag(const OperatorCall& call);

}  // namespace fettle::space
