// The one file that knows stb's headers (stb_parts.h).
#include "runtime/tensor_files/stb_parts.h"

#include <climits>
#include <cstdlib>
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
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#include <stb/stb_image.h>
#define STB_IMAGE_RESIZE_STATIC
#define STB_IMAGE_RESIZE_IMPLEMENTATION
// It asserts that the weights of a pixel sum up to 0.9 to 1.1 before it divides by their sum; for
// the triangle, scaled down by 1.2 to 1.6, they are up to 1.3.
#define STBIR_ASSERT(x) ((void)0)
#include <stb/stb_image_resize.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace fettle {
namespace {

// DEFLATE makes at most 1032 bytes of one, and those are at most eight pixels each.
constexpr std::uint64_t kMostPixelsOfAByte = 8256;

std::uint64_t big_endian(const std::string& bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

// What stb must not be given, by its chunks; null: nothing. Where the first IDAT chunk is empty it
// calls memcpy with a null pointer; a chunk's length it adds to a pointer, which goes around where
// those have 32 bits. Portable Network Graphics (W3C), 5.3: length, type, contents, CRC.
const char* fault_of_png(const std::string& png) {
  constexpr std::size_t kSignature = 8, kLengthAndType = 8, kCheck = 4;
  if (!png.starts_with("\x89PNG")) return nullptr;
  bool has_pixels = false;
  for (std::uint64_t at = kSignature; at + kLengthAndType <= png.size();) {
    const std::uint64_t length = big_endian(png, static_cast<std::size_t>(at));
    if (length > png.size() - at - kLengthAndType) return "a chunk is longer than the file";
    if (png.compare(static_cast<std::size_t>(at) + 4, 4, "IDAT") == 0) {
      if (!has_pixels && length == 0) return "its first IDAT chunk is empty";
      has_pixels = true;
    }
    at += kLengthAndType + length + kCheck;
  }
  return nullptr;
}

}  // namespace

bool inflate(const char* packed, std::size_t packed_bytes, char* to, std::size_t bytes) {
  if (packed_bytes > INT_MAX || bytes > INT_MAX) return false;
  const int made = stbi_zlib_decode_noheader_buffer(to, static_cast<int>(bytes), packed,
                                                    static_cast<int>(packed_bytes));
  return made >= 0 && static_cast<std::size_t>(made) == bytes;
}

Result<Image> decode_image(const std::string& contents) {
  if (contents.size() > INT_MAX) return Error{ErrorCode::TooLarge, "an image over 2 GiB"};
  if (const char* fault = fault_of_png(contents)) return no_image(fault);
  const auto* const from = reinterpret_cast<const stbi_uc*>(contents.data());
  const int from_bytes = static_cast<int>(contents.size());
  Image image;
  int channels = 0;
  if (stbi_info_from_memory(from, from_bytes, &image.width, &image.height, &channels) == 0) {
    return no_image(stbi_failure_reason());
  }
  // The height of a BMP whose first row is the topmost is negative.
  const std::int64_t height = std::abs(std::int64_t{image.height});
  auto sized = check_size(height, image.width, contents.size(), kMostPixelsOfAByte);
  if (!sized) return std::move(sized).error();
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load_from_memory(from, from_bytes, &image.width, &image.height, &channels, 3),
      stbi_image_free);
  if (!pixels) return no_image(stbi_failure_reason());
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
