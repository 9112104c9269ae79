// The one file that knows stb's headers (stb_parts.h).
#include "runtime/tensor_files/stb_parts.h"
#include "runtime/tensor_files/stb_guard.h"
#include "schemas/wire/bounded_read.h"

#include <climits>
#include <memory>

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wsign-compare"
#endif
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STBI_NO_STDIO
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#include <stb/stb_image.h>
#define STB_IMAGE_RESIZE_STATIC
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#include <stb/stb_image_resize.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace fettle {
namespace {

// DEFLATE makes at most 1032 bytes of one, and those are at most eight pixels each.
constexpr std::uint64_t kMostPixelsOfAByte = 8256;

}  // namespace

bool inflate(const char* packed, std::size_t packed_bytes, char* to, std::size_t bytes) {
  if (packed_bytes > INT_MAX || bytes > INT_MAX) return false;
  const int made = stbi_zlib_decode_noheader_buffer(to, static_cast<int>(bytes), packed,
                                                    static_cast<int>(packed_bytes));
  return made >= 0 && static_cast<std::size_t>(made) == bytes;
}

Result<Image> decode_image(const std::string& contents) {
  if (contents.size() > INT_MAX) return Error{ErrorCode::TooLarge, "an image over 2 GiB"};
  if (const char* why = stb_trips_over(contents)) {
    return Error{ErrorCode::Malformed, std::string("no image that can be read: ") + why};
  }
  Image image;
  int channels = 0;
  // A few bytes may say that they are a picture of gigabytes.
  if (stbi_info_from_memory(reinterpret_cast<const stbi_uc*>(contents.data()),
                            static_cast<int>(contents.size()), &image.width, &image.height,
                            &channels) != 0) {
    const auto pixels =
        static_cast<std::uint64_t>(image.width) * static_cast<std::uint64_t>(image.height);
    const auto many = [&] {
      return "an image of " + std::to_string(image.width) + "x" + std::to_string(image.height) +
             " pixels";
    };
    if (pixels > kMostImagePixels) {
      return Error{ErrorCode::TooLarge, many() + ", more than " + std::to_string(kMostImagePixels)};
    }
    if (pixels / kMostPixelsOfAByte > contents.size()) {
      return Error{ErrorCode::Malformed, "no image that can be read: " + many() + " in " +
                                             std::to_string(contents.size()) + " bytes"};
    }
  }
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(contents.data()),
                            static_cast<int>(contents.size()), &image.width, &image.height,
                            &channels, 3),
      stbi_image_free);
  if (!pixels) {
    return Error{ErrorCode::Malformed,
                 std::string("no image that can be read: ") + stbi_failure_reason()};
  }
  // Its resizing asserts that there is a pixel.
  if (image.width < 1 || image.height < 1) {
    return Error{ErrorCode::Malformed, "an image of " + std::to_string(image.height) + "x" +
                                           std::to_string(image.width) + " pixels"};
  }
  const auto bytes = std::size_t{3} * static_cast<std::size_t>(image.width) *
                     static_cast<std::size_t>(image.height);
  image.pixels.assign(pixels.get(), pixels.get() + bytes);
  return image;
}

Image resized(const Image& image, int height, int width) {
  if (image.height == height && image.width == width) return image;
  Image out{height, width, {}};
  out.pixels.resize(std::size_t{3} * static_cast<std::size_t>(height) *
                    static_cast<std::size_t>(width));
  stbir_resize_uint8_generic(image.pixels.data(), image.width, image.height, 0, out.pixels.data(),
                             width, height, 0, 3, STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP,
                             STBIR_FILTER_TRIANGLE, STBIR_COLORSPACE_LINEAR, nullptr);
  return out;
}

}  // namespace fettle
