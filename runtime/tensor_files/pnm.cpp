#include "runtime/tensor_files/pnm.h"
#include "schemas/wire/bounded_read.h"

#include <algorithm>
#include <charconv>

namespace fettle {
namespace {

constexpr std::uint32_t kMostSample = 65535;
constexpr int kMostSide = 1 << 24;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Numbers apart by blanks and comments, which go from # to the end of a line.
class Header {
 public:
  explicit Header(const std::string& contents) : contents_(contents) {}
  // From 1 to `most`; 0: there is none.
  std::uint32_t number(std::uint32_t most) {
    while (at_ < contents_.size() && (is_space(contents_[at_]) || contents_[at_] == '#')) {
      if (contents_[at_] == '#') at_ = std::min(contents_.find('\n', at_), contents_.size() - 1);
      ++at_;
    }
    std::uint32_t value = 0;
    const char* const begin = contents_.data() + at_;
    const auto [end, error] = std::from_chars(begin, contents_.data() + contents_.size(), value);
    at_ += static_cast<std::size_t>(end - begin);
    return error == std::errc() && value <= most ? value : 0;
  }
  // One blank ends the header.
  bool ends() { return at_ < contents_.size() && is_space(contents_[at_++]); }
  std::size_t bytes() const { return at_; }

 private:
  const std::string& contents_;
  std::size_t at_ = 2;
};

Error malformed(const char* what) {
  return Error{ErrorCode::Malformed, std::string("no image that can be read: ") + what};
}

}  // namespace

bool is_pnm(const std::string& contents) {
  return contents.size() > 2 && contents[0] == 'P' && (contents[1] == '5' || contents[1] == '6');
}

Result<Image> decode_pnm(const std::string& contents) {
  if (!is_pnm(contents)) return malformed("no P5 or P6");
  Header header(contents);
  const std::uint64_t width = header.number(kMostSide), height = header.number(kMostSide);
  if (width == 0 || height == 0) return malformed("its header gives no width and height");
  const std::uint32_t most = header.number(kMostSample);
  if (most == 0 || !header.ends()) return malformed("its header gives no largest sample");
  const std::uint64_t pixels = width * height;
  if (pixels > kMostImagePixels) {
    return Error{ErrorCode::TooLarge, "an image of " + std::to_string(width) + "x" +
                                          std::to_string(height) + " pixels, more than " +
                                          std::to_string(kMostImagePixels)};
  }
  const std::size_t channels = contents[1] == '6' ? 3 : 1, sample_bytes = most > 255 ? 2 : 1;
  if (contents.size() - header.bytes() < pixels * channels * sample_bytes) {
    return malformed("it ends before its last pixel");
  }
  const auto* from = reinterpret_cast<const std::uint8_t*>(contents.data()) + header.bytes();
  const auto sample = [&] {  // big-endian
    const std::uint32_t high = *from++;
    const std::uint32_t value = sample_bytes == 2 ? high << 8 | *from++ : high;
    return static_cast<std::uint8_t>((std::min(value, most) * 255 + most / 2) / most);
  };
  Image image{static_cast<int>(height), static_cast<int>(width), {}};
  image.pixels.resize(static_cast<std::size_t>(pixels) * 3);
  for (std::size_t at = 0; at < image.pixels.size(); at += 3) {
    image.pixels[at] = sample();
    image.pixels[at + 1] = channels == 3 ? sample() : image.pixels[at];
    image.pixels[at + 2] = channels == 3 ? sample() : image.pixels[at];
  }
  return image;
}

}  // namespace fettle
