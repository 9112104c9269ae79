// Tensors out of files and into them: .npy, .npz, images.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/tensor_files/npy.h"
#include "schemas/network_generated.h"

namespace fettle {

// How an image becomes a tensor of floats: (pixel / 255 - mean) / std, per channel. Of one channel,
// which is how bright the pixel is, the first of both.
struct ImageRule {
  float mean[3] = {0, 0, 0};
  float std[3] = {1, 1, 1};
  // The image is resized to this before its middle is taken; 0: to the tensor's own size.
  int height = 0, width = 0;
};

// Whether the only array of an .npz may have another name than the tensor.
enum class LoneArray { OfAnyName, OfItsName };

// Whether a file of that name is taken for an image: its ending says so.
bool is_image(const std::string& name);

// The bytes for that tensor out of a file's contents; `name`: of the file, whose ending says what
// it is. Of an .npz its array of the tensor's name, or its only one where that may be so. Numbers
// become the tensor's type where they keep their value, but for rounding to a narrower float;
// leading axes of length 1 need not be there. InvalidArgument says both shapes or both types.
Result<Bytes> tensor_of_file(const wire::NetworkTensorT& tensor, const std::string& name,
                             const std::string& contents, const ImageRule& rule,
                             LoneArray lone = LoneArray::OfAnyName);

std::string text_of(wire::ScalarType type, std::span<const std::int64_t> shape);  // "float32 1x10"

}  // namespace fettle
