// Reading tensors (tensor_file.h).
#include "runtime/tensor_files/tensor_file.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "runtime/tensor_files/jpeg.h"
#include "runtime/tensor_files/pnm.h"
#include "runtime/tensor_files/stb_parts.h"
#include "runtime/tensor_files/zip.h"
#include "schemas/fill/fill.h"
#include "schemas/half/half.h"

namespace fettle {
namespace {

using wire::ScalarType;

bool ends_with(std::string name, const char* ending) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.ends_with(ending);
}

Error unfit(const wire::NetworkTensorT& tensor, const std::string& what) {
  return {ErrorCode::InvalidArgument,
          what + ", the input " + tensor.name + " is " + text_of(tensor.dtype, tensor.shape)};
}

std::span<const std::int64_t> without_leading_ones(std::span<const std::int64_t> shape) {
  while (!shape.empty() && shape.front() == 1) shape = shape.subspan(1);
  return shape;
}

bool is_float(ScalarType type) { return type >= ScalarType::Float16; }

double number_at(ScalarType type, const std::uint8_t* at) {
  const auto as = [at](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (type) {
    case ScalarType::Bool:
    case ScalarType::UInt8:
      return as(std::uint8_t{});
    case ScalarType::Int8:
      return as(std::int8_t{});
    case ScalarType::Int16:
      return as(std::int16_t{});
    case ScalarType::Int32:
      return as(std::int32_t{});
    case ScalarType::Int64:
      return static_cast<double>(as(std::int64_t{}));
    case ScalarType::Float16:
      return float_of_half(as(std::uint16_t{}));
    case ScalarType::Float32:
      return as(float{});
    case ScalarType::Float64:
      return as(double{});
  }
  return 0;
}

void put_float(ScalarType type, double value, std::uint8_t* at) {
  const auto put = [at](auto number) { std::memcpy(at, &number, sizeof number); };
  if (type == ScalarType::Float16) put(half_of(value));
  if (type == ScalarType::Float32) put(static_cast<float>(value));
  if (type == ScalarType::Float64) put(value);
}

Result<Bytes> of_array(const wire::NetworkTensorT& tensor, NpyArray array) {
  const auto given = without_leading_ones(array.shape), wanted = without_leading_ones(tensor.shape);
  if (!std::equal(given.begin(), given.end(), wanted.begin(), wanted.end())) {
    return unfit(tensor, "the array is " + text_of(array.type, array.shape));
  }
  if (array.type == tensor.dtype) return std::move(array.bytes);
  if (!is_float(tensor.dtype)) {
    return unfit(tensor, "the array is " + text_of(array.type, array.shape));
  }
  const std::size_t from = bytes_of(array.type), to = bytes_of(tensor.dtype);
  const std::size_t count = array.bytes.size() / from;
  Bytes bytes(count * to);
  for (std::size_t i = 0; i < count; ++i) {
    put_float(tensor.dtype, number_at(array.type, &array.bytes[i * from]), &bytes[i * to]);
  }
  return bytes;
}

Result<Bytes> of_archive(const wire::NetworkTensorT& tensor, const std::string& contents,
                         LoneArray lone) {
  auto entries = parse_zip(contents);
  if (!entries) return std::move(entries).error();
  const bool any = lone == LoneArray::OfAnyName && entries->size() == 1;
  const ZipEntry* found = any ? &entries->front() : nullptr;
  std::string names;
  for (const ZipEntry& entry : *entries) {
    if (entry.name == tensor.name + ".npy") found = &entry;
    names += " " + entry.name;
  }
  if (!found) {
    return Error{ErrorCode::NotFound, "no array " + tensor.name + ".npy in it, but" + names};
  }
  auto array = parse_npy(found->contents);
  if (!array) return std::move(array).error();
  return of_array(tensor, std::move(*array));
}

Result<Image> decoded(const std::string& contents) {
  if (is_pnm(contents)) return decode_pnm(contents);
  if (is_jpeg(contents)) return decode_jpeg(contents);
  return decode_image(contents);
}

// How bright a pixel is: by ITU-R BT.601, as Pillow's grey is.
std::uint8_t brightness(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >>
                                   16);
}

// Channels first or last, by where the three are, or the one.
Result<Bytes> of_image(const wire::NetworkTensorT& tensor, const std::string& contents,
                       const ImageRule& rule) {
  const auto& shape = tensor.shape;
  const bool batch = shape.size() == 4;
  const std::size_t first = batch ? 1 : 0;
  if (batch && shape[0] != 1) return unfit(tensor, "an image is a batch of one");
  const bool axes = batch || shape.size() == 3;
  const auto channels_lie = [&](std::size_t axis, std::int64_t count) {
    return axes && shape[first + axis] == count;
  };
  const bool three = channels_lie(0, 3) || channels_lie(2, 3);
  const int channels = three ? 3 : 1;
  const bool channels_first = channels_lie(0, channels);
  if (!channels_first && !channels_lie(2, channels)) {
    return unfit(tensor, "an image has three channels, or one");
  }
  if (tensor.dtype != ScalarType::UInt8 && !is_float(tensor.dtype)) {
    return unfit(tensor, "an image is of floats or uint8");
  }
  const int height = static_cast<int>(shape[first + (channels_first ? 1 : 0)]);
  const int width = static_cast<int>(shape[first + (channels_first ? 2 : 1)]);
  auto picture = decoded(contents);
  if (!picture) return std::move(picture).error();
  const int to_height = rule.height > 0 ? rule.height : height;
  const int to_width = rule.width > 0 ? rule.width : width;
  if (to_height < height || to_width < width) {
    return unfit(tensor, "the image is resized to " + std::to_string(to_height) + "x" +
                             std::to_string(to_width));
  }
  const Image image = resized(*picture, to_height, to_width);
  const int top = (to_height - height) / 2, left = (to_width - width) / 2;
  const std::size_t bytes = bytes_of(tensor.dtype);
  Bytes out(bytes * static_cast<std::size_t>(channels) * static_cast<std::size_t>(height) *
            static_cast<std::size_t>(width));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const std::uint8_t* from =
          &image.pixels[static_cast<std::size_t>(((y + top) * to_width + x + left) * 3)];
      for (int c = 0; c < channels; ++c) {
        const int to =
            channels_first ? (c * height + y) * width + x : (y * width + x) * channels + c;
        const std::uint8_t pixel = three ? from[c] : brightness(from);
        std::uint8_t* at = &out[static_cast<std::size_t>(to) * bytes];
        if (tensor.dtype == ScalarType::UInt8) *at = pixel;
        put_float(tensor.dtype, (pixel / 255.0 - rule.mean[c]) / rule.std[c], at);
      }
    }
  }
  return out;
}

}  // namespace

std::string text_of(ScalarType type, std::span<const std::int64_t> shape) {
  std::string text = wire::EnumNameScalarType(type);
  text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? " " : "x") + std::to_string(shape[i]);
  }
  return text;
}

bool is_image(const std::string& name) {
  return !ends_with(name, ".npz") && !ends_with(name, ".npy");
}

Result<Bytes> tensor_of_file(const wire::NetworkTensorT& tensor, const std::string& name,
                             const std::string& contents, const ImageRule& rule, LoneArray lone) {
  if (ends_with(name, ".npz")) return of_archive(tensor, contents, lone);
  if (is_image(name)) return of_image(tensor, contents, rule);
  auto array = parse_npy(contents);
  if (!array) return std::move(array).error();
  return of_array(tensor, std::move(*array));
}

}  // namespace fettle
