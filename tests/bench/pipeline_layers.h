// Layers for the pipeline benchmark: the downsampling convolutions of published
// networks, so that some layer runs about as long as is wanted on any device. A
// strided convolution has the direct algorithm only: its time follows its operations.
// All 3x3, float32, NHWC, batch 1, stride 2, padded by 1, bias and relu.
#pragma once

#include "host/space/workload.h"

namespace fettle::bench {

// ResNet-18's 56x56, 64 to 128 channels: by its rate on the device the layer is chosen.
Result<space::Workload> sizing_layer();

// The layer whose number of operations is nearest to `operations` by ratio.
Result<space::Workload> layer_of_operations(double operations);

}  // namespace fettle::bench
