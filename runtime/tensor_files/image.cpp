#include "runtime/tensor_files/image.h"
#include "schemas/wire/bounded_read.h"

namespace fettle {

Error no_image(const std::string& why) {
  return {ErrorCode::Malformed, "no image that can be read: " + why};
}

Result<void> check_size(std::int64_t height, std::int64_t width, std::size_t bytes,
                        std::uint64_t most_of_a_byte) {
  const std::string many =
      "an image of " + std::to_string(width) + "x" + std::to_string(height) + " pixels";
  if (height < 1 || width < 1) return no_image(many);
  const std::uint64_t pixels =
      static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height);
  if (pixels > kMostImagePixels) {
    return Error{ErrorCode::TooLarge, many + ", more than " + std::to_string(kMostImagePixels)};
  }
  if (pixels / most_of_a_byte > bytes) {
    return no_image(many + " in " + std::to_string(bytes) + " bytes");
  }
  return {};
}

}  // namespace fettle
