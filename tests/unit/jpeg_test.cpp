// JPEG pictures: their pixels, and what is said of those that are damaged or ask for too much.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "runtime/tensor_files/jpeg.h"
#include "tests/fuzz/image_seeds.h"

namespace fettle {
namespace {

template <std::size_t Bytes>
std::string text(const std::uint8_t (&bytes)[Bytes]) {
  return std::string(std::begin(bytes), std::end(bytes));
}

std::string refusal(const std::string& jpeg) {
  const auto image = decode_jpeg(jpeg);
  return image ? "" : image.error().message;
}

std::string big_endian(std::size_t value) {
  return {static_cast<char>(value >> 8), static_cast<char>(value)};
}

// A marker, the length of what follows, and that.
std::string segment(char marker, const std::string& body) {
  return std::string("\xff") + marker + big_endian(body.size() + 2) + body;
}

// By ITU-T T.81, B.2: a picture whose codes are one bit long, of blocks that differ in nothing.
struct Flat {
  std::size_t height = 8, width = 8;
  std::string components = std::string("\1\x11\0\2\x11\0\3\x11\0", 9);  // number, sampling, table
  char frame = '\xc0';
  std::string dc = std::string("\0\1", 2) + std::string(16, '\0');  // one code of one bit, for 0
  std::string ac = std::string("\x10\1", 2) + std::string(16, '\0');
  std::string quantisation = std::string(1, '\0') + std::string(64, '\1');
  int scans_of_each = 1;

  std::string scan(char component) const {
    const std::size_t blocks = (height + 7) / 8 * ((width + 7) / 8);
    std::string bits(blocks / 4, '\0');
    if (blocks % 4 != 0) bits += static_cast<char>(0xff >> blocks % 4 * 2);
    return segment('\xda', std::string("\1") + component + std::string("\0\0\x3f\0", 4)) + bits;
  }
  std::string bytes() const {
    const auto count = static_cast<char>(components.size() / 3);
    std::string jpeg =
        "\xff\xd8" + segment('\xdb', quantisation) +
        segment(frame, "\10" + big_endian(height) + big_endian(width) + count + components) +
        segment('\xc4', dc) + segment('\xc4', ac);
    for (std::size_t i = 0; i < components.size(); i += 3) {
      for (int n = 0; n < scans_of_each; ++n) jpeg += scan(components[i]);
    }
    return jpeg + "\xff\xd9";
  }
};

// Nothing is quantised and blocks are of one colour, so that the decoder has the encoder's Y, Cb
// and Cr, each rounded: 0.5 of them are at most 0.5 + 1.772 * 0.5 of blue, less of red and green,
// and with that colour's own rounding less than 2.
TEST(Jpeg, ItsColours) {
  const auto image = decode_jpeg(text(kJpegHalves));
  ASSERT_TRUE(image.ok()) << image.error().text();
  ASSERT_EQ(image->height, 8);
  ASSERT_EQ(image->width, 16);
  ASSERT_EQ(image->pixels.size(), 8u * 16 * 3);
  const int colours[2][3] = {{200, 60, 30}, {20, 90, 220}};
  for (std::size_t i = 0; i < image->pixels.size(); ++i) {
    EXPECT_LE(std::abs(image->pixels[i] - colours[i / 24 % 2][i % 3]), 1) << i;
  }
}

// Without a change of colours there is nothing to round.
TEST(Jpeg, Grey) {
  const auto image = decode_jpeg(text(kJpegHalvesGrey));
  ASSERT_TRUE(image.ok()) << image.error().text();
  ASSERT_EQ(image->pixels.size(), 8u * 16 * 3);
  for (std::size_t i = 0; i < image->pixels.size(); ++i) {
    EXPECT_EQ(image->pixels[i], i / 24 % 2 == 0 ? 100 : 30) << i;
  }
}

// Both hold the same coefficients.
TEST(Jpeg, ProgressiveIsAsBaseline) {
  const auto baseline = decode_jpeg(text(kJpeg)), progressive = decode_jpeg(text(kJpegProgressive));
  ASSERT_TRUE(baseline.ok() && progressive.ok());
  EXPECT_EQ(baseline->pixels, progressive->pixels);
}

TEST(Jpeg, ScansOfOneComponentEach) {
  const auto image = decode_jpeg(Flat{}.bytes());
  ASSERT_TRUE(image.ok()) << image.error().text();
  EXPECT_EQ(image->pixels, std::vector<std::uint8_t>(8 * 8 * 3, 128));
}

TEST(Jpeg, WithoutItsLastByte) {
  for (const std::string& whole : {text(kJpeg), text(kJpegProgressive), text(kJpegHalvesGrey)}) {
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
      EXPECT_NE(refusal(whole.substr(0, bytes)), "") << bytes;
    }
  }
  const std::string whole = text(kJpeg);
  EXPECT_EQ(refusal(whole.substr(0, whole.size() - 2)),
            "no image that can be read: Premature end of JPEG file");
}

TEST(Jpeg, BytesBetweenItsPartsAreNoHarm) {
  const std::string whole = text(kJpeg);
  const std::size_t tables = whole.find("\xff\xc4");
  const auto image = decode_jpeg(whole.substr(0, tables) + "xx" + whole.substr(tables) + "behind");
  ASSERT_TRUE(image.ok()) << image.error().text();
  EXPECT_EQ(image->pixels, decode_jpeg(whole)->pixels);
}

// Some encoders leave what a baseline picture has no use for at 0.
TEST(Jpeg, AScanHeaderOfZerosIsNoHarm) {
  const std::string whole = text(kJpeg);
  const std::size_t scan = whole.find("\xff\xda");
  const std::size_t last = scan + 5 + 2 * static_cast<std::size_t>(whole.at(scan + 4)) + 1;
  ASSERT_EQ(whole.at(last), '\x3f');
  std::string zeros = whole;
  zeros[last] = 0;
  const auto image = decode_jpeg(zeros);
  ASSERT_TRUE(image.ok()) << image.error().text();
  EXPECT_EQ(image->pixels, decode_jpeg(whole)->pixels);
}

// It ends as it should, and two of three components were never sent. (The first scans alone of a
// progressive picture are a coarse one, by the standard.)
TEST(Jpeg, AComponentWithoutAScan) {
  const std::string whole = Flat{}.bytes();
  const std::size_t second = whole.find("\xff\xda", whole.find("\xff\xda") + 2);
  EXPECT_EQ(refusal(whole.substr(0, second) + "\xff\xd9"),
            "no image that can be read: a component has no scan");
}

// Found by fuzzing: what read these before wrote and read beyond its memory.
TEST(Jpeg, HostileTables) {
  EXPECT_NE(refusal(text(kJpegDamaged)), "");
  const std::string bogus = "no image that can be read: Bogus Huffman table definition";
  const std::string whole = text(kJpeg);
  const std::size_t counts = whole.find("\xff\xc4") + 5;
  EXPECT_NE(refusal(whole.substr(0, counts) + std::string(16, '\xff')), "");
  std::string overfull = whole;
  overfull[counts] = overfull[counts + 14] = '\xff';
  EXPECT_EQ(refusal(overfull), bogus);
  Flat flat;
  flat.dc[1] = 3;  // codes of one bit
  flat.dc += std::string(2, '\0');
  EXPECT_EQ(refusal(flat.bytes()), bogus);
  flat = {};
  flat.dc.back() = 17;  // bits of a difference
  EXPECT_EQ(refusal(flat.bytes()), bogus);
  flat = {};
  flat.dc[0] = 4;  // its number
  EXPECT_EQ(refusal(flat.bytes()), "no image that can be read: Bogus DHT index 4");
  flat = {};
  flat.quantisation[0] = 4;
  EXPECT_EQ(refusal(flat.bytes()), "no image that can be read: Bogus DQT index 4");
}

TEST(Jpeg, HostileFrames) {
  Flat flat;
  flat.width = 0;
  EXPECT_NE(refusal(flat.bytes()).find("Empty JPEG image"), std::string::npos);
  flat = {};
  flat.components[1] = 0x51;
  EXPECT_EQ(refusal(flat.bytes()), "no image that can be read: Bogus sampling factors");
  flat = {};
  flat.components[2] = 3;
  EXPECT_EQ(refusal(flat.bytes()),
            "no image that can be read: Quantization table 0x03 was not defined");
  flat = {};
  flat.components.resize(6);
  EXPECT_EQ(refusal(flat.bytes()),
            "no image that can be read: Unsupported color conversion request");
  flat = {};
  flat.components += std::string("\4\x11\0", 3);
  EXPECT_EQ(refusal(flat.bytes()), "a JPEG in CMYK");
  flat = {};
  flat.frame = '\xc9';
  EXPECT_EQ(refusal(flat.bytes()), "a JPEG in arithmetic coding");
  EXPECT_NE(refusal("\xff\xd8"), "");
  EXPECT_NE(refusal("\xff\xd8\xff\xd9"), "");
}

TEST(Jpeg, MoreThanIsSensible) {
  Flat flat;
  flat.scans_of_each = 34;
  EXPECT_EQ(refusal(flat.bytes()), "no image that can be read: it has more than 100 scans");
  flat.scans_of_each = 33;
  EXPECT_EQ(refusal(flat.bytes()), "");
  // Of many pixels none is read.
  std::string jpeg = Flat{}.bytes();
  const std::size_t size = jpeg.find("\xff\xc0") + 5;
  jpeg.replace(size, 4, big_endian(8192) + big_endian(8193));
  EXPECT_EQ(refusal(jpeg), "an image of 8193x8192 pixels, more than 67108864");
  jpeg.replace(size, 4, big_endian(512) + big_endian(1024));
  EXPECT_EQ(refusal(jpeg), "no image that can be read: an image of 1024x512 pixels in " +
                               std::to_string(jpeg.size()) + " bytes");
}

TEST(Jpeg, DamagedOnesAreRefusedOrHarmless) {
  std::mt19937 random(1);  // the same in each run: what it finds is the change's own
  for (const std::string& whole : {text(kJpeg), text(kJpegProgressive), text(kJpegHalvesGrey)}) {
    for (int i = 0; i < 5'000; ++i) {
      std::string damaged = whole;
      for (std::uint32_t n = 1 + random() % 3; n > 0; --n) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
      damaged.shrink_to_fit();
      const auto image = decode_jpeg(damaged);
      if (image) {
        EXPECT_EQ(image->pixels.size(), std::size_t{3} * static_cast<std::size_t>(image->height) *
                                            static_cast<std::size_t>(image->width));
      } else {
        EXPECT_FALSE(image.error().message.empty());
      }
    }
  }
}

}  // namespace
}  // namespace fettle
