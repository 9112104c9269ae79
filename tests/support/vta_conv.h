// Convolutions as streams for VTA, by one fixed schedule (the compiler's are host/backend's): for
// models of the accelerator that are to run whole layers.
#pragma once

#include "tests/support/vta_random.h"

namespace fettle::testing {

// In elements of block_in and block_out channels: data (in_blocks, height, width), weights
// (out_blocks, in_blocks, kernel, kernel), output (out_blocks, rows(), columns()); behind it a
// shift by 8, max 0, min 127.
struct VtaConv {
  std::uint32_t height, width, in_blocks, out_blocks, kernel, stride, pad;

  std::uint32_t rows() const { return (height + 2 * pad - kernel) / stride + 1; }
  std::uint32_t columns() const { return (width + 2 * pad - kernel) / stride + 1; }
};

// Of the layer, over random data. Whole rows of output in two halves of each memory that take
// turns, so that loads and stores overlap with work. Aborts where no tile fits.
VtaProgram vta_conv_program(const vta::Design& design, const VtaConv& conv, std::uint64_t seed);

// What the program's part "output" is to hold, from its parts "input" and "weights".
Bytes vta_conv_expected(const VtaProgram& program, const VtaConv& conv);

// The bytes of a part of an image of the program.
ByteView vta_part(const VtaProgram& program, ByteView image, std::string_view name);

// The ten int8 layers of ResNet-18, in blocks of 16 channels.
std::vector<VtaConv> resnet_18_vta();

}  // namespace fettle::testing
