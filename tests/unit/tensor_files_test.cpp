// Tensors out of files: arrays that Python's own libraries wrote, archives, images, and what is
// said of those that do not fit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

#include "runtime/tensor_files/stb_parts.h"
#include "runtime/tensor_files/tensor_file.h"
#include "runtime/tensor_files/zip.h"
#include "schemas/half/half.h"
#include "schemas/wire/bounded_read.h"
#include "tests/fuzz/image_seeds.h"
#include "tests/support/tensor_samples.h"

namespace fettle {
namespace {

using test::floats;
using test::npy_of;
using test::tensor_of;
using wire::ScalarType;

// As zipfile.ZipFile(..., compression=ZIP_DEFLATED) and numpy.savez_compressed write it: deflated
// text of "abcabcabc" 11 times, by zlib's raw stream.
const std::string kDeflated("\x4b\x4c\x4a\x4e\xa4\x31\x02\x00", 8);

TEST(Npy, WhatIsWrittenIsRead) {
  for (const auto& shape : {std::vector<std::int64_t>{}, {3}, {2, 3}, {1, 2, 1, 3}}) {
    std::vector<float> values(shape.empty() ? 1 : shape.size() == 1 ? 3 : 6, 1.5f);
    const std::string file = npy_of(ScalarType::Float32, shape, values);
    EXPECT_EQ(file.find('\n') % 64, 63u) << "data begin at a multiple of 64";
    const auto array = parse_npy(file);
    ASSERT_TRUE(array.ok()) << shape.size();
    EXPECT_EQ(array->shape, shape);
    EXPECT_EQ(floats(array->bytes), values);
  }
  EXPECT_NE(npy_of(ScalarType::Float32, {3}, std::vector<float>(3)).find("'shape': (3,), }"),
            std::string::npos);
}

TEST(TensorFile, NumbersBecomeTheTensorsType) {
  const auto wanted = tensor_of(ScalarType::Float32, {1, 3});
  const std::vector<float> right = {1, -2, 3};
  const std::string files[] = {
      npy_of<float>(ScalarType::Float32, {1, 3}, {1, -2, 3}),
      npy_of<double>(ScalarType::Float64, {3}, {1, -2, 3}),
      npy_of<std::int8_t>(ScalarType::Int8, {1, 1, 3}, {1, -2, 3}),
      npy_of<std::int64_t>(ScalarType::Int64, {1, 3}, {1, -2, 3}),
      npy_of<std::uint16_t>(ScalarType::Float16, {1, 3}, {half_of(1), half_of(-2), half_of(3)})};
  for (const std::string& file : files) {
    const auto bytes = tensor_of_file(wanted, "x.npy", file, {});
    ASSERT_TRUE(bytes.ok());
    EXPECT_EQ(floats(*bytes), right);
  }
}

TEST(TensorFile, WhatDoesNotFitSaysBoth) {
  const auto wanted = tensor_of(ScalarType::Float32, {1, 3, 8, 8});
  auto refused =
      tensor_of_file(wanted, "x.npy", npy_of<float>(ScalarType::Float32, {1, 2}, {1, 2}), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "the array is float32 1x2, the input image is float32 1x3x8x8");
  const auto ids = tensor_of(ScalarType::Int64, {2});
  refused = tensor_of_file(ids, "x.npy", npy_of<float>(ScalarType::Float32, {2}, {1, 2}), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "the array is float32 2, the input image is int64 2");
}

TEST(TensorFile, AnArchivesArrayByNameOrItsOnlyOne) {
  const auto wanted = tensor_of(ScalarType::Float32, {2});
  const std::string right = npy_of<float>(ScalarType::Float32, {2}, {4, 5});
  const std::string other = npy_of<float>(ScalarType::Float32, {2}, {6, 7});
  const auto two = zip_archive({{"other.npy", other}, {"image.npy", right}});
  const auto one = zip_archive({{"arr_0.npy", right}});
  ASSERT_TRUE(two.ok() && one.ok());
  for (const auto& archive : {*two, *one}) {
    const auto bytes = tensor_of_file(wanted, "x.NPZ", archive, {});
    ASSERT_TRUE(bytes.ok());
    EXPECT_EQ(floats(*bytes), (std::vector<float>{4, 5}));
  }
  const auto wrong = zip_archive({{"a.npy", other}, {"b.npy", right}});
  auto refused = tensor_of_file(wanted, "x.npz", *wrong, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "no array image.npy in it, but a.npy b.npy");
}

// Of several inputs one that is missing must not be filled with another one's numbers.
TEST(TensorFile, AnArchivesOnlyArrayMayHaveToBeOfTheName) {
  const auto one = zip_archive({{"other.npy", npy_of<float>(ScalarType::Float32, {2}, {4, 5})}});
  const auto refused =
      tensor_of_file(tensor_of(ScalarType::Float32, {2}), "x.npz", *one, {}, LoneArray::OfItsName);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "no array image.npy in it, but other.npy");
}

TEST(Npy, FortransOrderAndBigEndianNumbersAreTurned) {
  std::string file = npy_of<std::int16_t>(ScalarType::Int16, {2, 3}, {1, 4, 2, 5, 3, 6});
  file.replace(file.find("False"), 6, "True, ");  // the header stays as long
  auto array = parse_npy(file);
  ASSERT_TRUE(array.ok()) << array.error().text();
  std::int16_t numbers[6];
  std::memcpy(numbers, array->bytes.data(), sizeof numbers);
  EXPECT_TRUE(std::ranges::equal(numbers, std::vector<std::int16_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(array->shape, (std::vector<std::int64_t>{2, 3}));

  file = npy_of<std::int16_t>(ScalarType::Int16, {2}, {0x0102, -2});
  file[file.find('<')] = '>';
  array = parse_npy(file);
  ASSERT_TRUE(array.ok()) << array.error().text();
  EXPECT_EQ(array->bytes, (std::vector<std::uint8_t>{1, 2, 0xff, 0xfe}));
}

// numpy reads names without the flag as those of code page 437.
TEST(Zip, NamesBeyondAsciiAreSaidToBeUtf8) {
  for (const auto& [name, flag] : {std::pair{"é.npy", 8}, {"e.npy", 0}}) {
    const auto archive = zip_archive({{name, "x"}});
    ASSERT_TRUE(archive.ok());
    EXPECT_EQ((*archive)[7], flag);
    EXPECT_EQ((*archive)[archive->find("PK\x01\x02") + 9], flag);
    EXPECT_EQ(parse_zip(*archive)->front().name, name);
  }
}

TEST(Zip, DeflatedEntriesUnpack) {
  std::string plain;
  for (int i = 0; i < 11; ++i) plain += "abcabcabc";
  auto archive = zip_archive({{"x", plain}});
  ASSERT_TRUE(archive.ok());
  // The same, as if it had been written deflated.
  const std::size_t at = archive->find(plain);
  archive->replace(at, plain.size(), kDeflated);
  const std::size_t central = archive->find("PK\x01\x02");
  (*archive)[central + 10] = 8;
  (*archive)[central + 20] = static_cast<char>(kDeflated.size());
  (*archive)[archive->size() - 6] = static_cast<char>(central);
  const auto entries = parse_zip(*archive);
  ASSERT_TRUE(entries.ok()) << entries.error().text();
  EXPECT_EQ(entries->front().contents, plain);
}

TEST(Zip, DamagedArchivesAreRefusedOrHarmless) {
  const auto archive = zip_archive({{"a.npy", std::string(200, 'x')}, {"b.npy", "yy"}});
  ASSERT_TRUE(archive.ok());
  const std::uint32_t seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = *archive;
    for (std::uint32_t n = 1 + random() % 3; n > 0; --n) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) damaged.resize(random() % damaged.size());
    damaged.shrink_to_fit();
    auto entries = parse_zip(damaged);
    if (!entries) {
      EXPECT_FALSE(entries.error().message.empty());
    }
  }
  auto damaged = *archive;
  damaged[damaged.find("xxxx")] ^= 1;
  EXPECT_EQ(parse_zip(damaged).error().message, "no ZIP archive: an entry is damaged");
}

// 2 x 2: red, green; blue, white.
const std::string kImage = std::string("P6\n2 2\n255\n") +
                           std::string("\xff\x00\x00\x00\xff\x00\x00\x00\xff\xff\xff\xff", 12);

TEST(TensorFile, AnImageInEitherLayout) {
  ImageRule rule;
  rule.mean[0] = 0.5f;
  rule.std[1] = 0.25f;
  const auto first =
      tensor_of_file(tensor_of(ScalarType::Float32, {1, 3, 2, 2}), "i.ppm", kImage, rule);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(floats(*first), (std::vector<float>{0.5f, -0.5f, -0.5f, 0.5f, 0, 4, 0, 4, 0, 0, 1, 1}));
  const auto last = tensor_of_file(tensor_of(ScalarType::UInt8, {2, 2, 3}), "i.ppm", kImage, rule);
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(std::string(last->begin(), last->end()), kImage.substr(11));
}

TEST(TensorFile, AnImageIsResizedAndItsMiddleTaken) {
  std::string grey = "P6\n8 4\n255\n";
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 8; ++x) grey += std::string(3, static_cast<char>(x < 4 ? 0 : 200));
  }
  ImageRule rule;
  rule.height = 2;
  rule.width = 4;
  const auto bytes = tensor_of_file(tensor_of(ScalarType::UInt8, {3, 2, 2}), "i.ppm", grey, rule);
  ASSERT_TRUE(bytes.ok());
  EXPECT_LT((*bytes)[0], 100) << "dark on the left";
  EXPECT_GT((*bytes)[1], 100) << "bright on the right";
  EXPECT_EQ((*bytes)[0], (*bytes)[2]);
}

Result<Bytes> small_image(const std::string& contents) {
  return tensor_of_file(tensor_of(ScalarType::UInt8, {2, 2, 3}), "i.ppm", contents, {});
}

// The library's own check of its weights ended the program where an image got smaller by 1.2
// to 1.6.
TEST(TensorFile, ARampStaysOneHoweverItIsScaled) {
  constexpr int kTo = 56, kRows = 4;
  for (int from = 40; from <= 160; ++from) {
    Image ramp{kRows, from, {}};
    ramp.pixels.resize(std::size_t{3} * kRows * static_cast<std::size_t>(from));
    for (std::size_t i = 0; i < ramp.pixels.size(); ++i) {
      const std::size_t x = i / 3 % static_cast<std::size_t>(from);
      ramp.pixels[i] = static_cast<std::uint8_t>(x);
    }
    const Image out = resized(ramp, kRows, kTo);
    ASSERT_EQ(out.pixels.size(), std::size_t{3} * kRows * kTo);
    for (int x = 3; x < kTo - 3; ++x) {  // the edges stand for what lies beyond them, too
      const double centre = (x + 0.5) * from / kTo - 0.5;
      const auto at = static_cast<std::size_t>(3 * x);
      EXPECT_NEAR(out.pixels[at], centre, 1) << from << " at " << x;
    }
  }
}

TEST(TensorFile, GreyImages) {
  const auto bytes = small_image("P5 # one\n#two\n2 2\n15\n" + std::string("\0\1\17\377", 4));
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(*bytes, (Bytes{0, 0, 0, 17, 17, 17, 255, 255, 255, 255, 255, 255}));
}

// Found by fuzzing: stb read past such an image.
TEST(TensorFile, GreyImagesOfSixteenBits) {
  const auto bytes = small_image("P5\n2 2\n65535\n" + std::string("\0\0\1\0\200\0\377\377", 8));
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(*bytes, (Bytes{0, 0, 0, 1, 1, 1, 128, 128, 128, 255, 255, 255}));
}

TEST(TensorFile, AnImageWithoutItsLastPixel) {
  for (const std::string& whole : {kImage, "P5\n2 2\n65535\n" + std::string(8, 'x')}) {
    ASSERT_TRUE(small_image(whole).ok());
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
      EXPECT_FALSE(small_image(whole.substr(0, bytes)).ok()) << bytes;
    }
  }
}

TEST(TensorFile, HeadersOfNoImage) {
  for (const char* header :
       {"P6 99999999999 2 255\n", "P6 2 2 65536\n", "P6 2 2 0\n", "P6 2 2 255#", "P6 2 -2 255\n",
        "P6 #", "P6 2 2\n#\n", "P3 2 2 255\n"}) {
    EXPECT_FALSE(small_image(header + std::string(100, '1')).ok()) << header;
  }
}

// Found by fuzzing: stb hands a null pointer to memcpy.
TEST(TensorFile, APngWithoutPixelsInItsFirstChunk) {
  const std::string red(std::begin(kPng), std::end(kPng));
  EXPECT_TRUE(small_image(red).ok());
  const std::size_t data = red.find("IDAT") - 4;
  const std::string empty("\0\0\0\0IDAT\x35\xaf\x06\x1e", 12);
  const auto refused = small_image(red.substr(0, data) + empty + red.substr(data));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("first IDAT chunk is empty"), std::string::npos);
  // A length that goes around where sizes have 32 bits, and one just beyond the end.
  for (const std::uint8_t last : {0xf4, 0xff}) {
    std::string endless = red;
    endless.replace(8, 4, std::string("\xff\xff\xff") + static_cast<char>(last));
    EXPECT_NE(small_image(endless).error().message.find("a chunk is longer than the file"),
              std::string::npos);
  }
  std::string longer = red;
  longer[data + 3] = static_cast<char>(longer[data + 3] + 25);
  EXPECT_FALSE(small_image(longer).ok());
}

// Found by fuzzing: 64 bytes that took 20 seconds.
TEST(TensorFile, APictureOfMorePixelsThanItsBytesCanTell) {
  std::string wide(std::begin(kBmp), std::end(kBmp));
  EXPECT_TRUE(small_image(wide).ok());
  wide.replace(18, 4, std::string("\0\0\x20\0", 4));
  const auto refused = small_image(wide);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("an image of 2097152x2 pixels in 70 bytes"),
            std::string::npos)
      << refused.error().message;
}

TEST(TensorFile, ABmpFromItsFirstRow) {
  std::string last_row_first(std::begin(kBmp), std::end(kBmp));
  std::string first_row_first = last_row_first;
  first_row_first.replace(22, 4, "\xfe\xff\xff\xff");  // a height of -2
  std::swap_ranges(first_row_first.end() - 8, first_row_first.end() - 4, first_row_first.end() - 4);
  const auto one = small_image(last_row_first), other = small_image(first_row_first);
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ(*one, *other);
  first_row_first.replace(22, 4, std::string("\0\0\0\x80", 4));
  EXPECT_FALSE(small_image(first_row_first).ok());
}

TEST(TensorFile, WhatIsNoImage) {
  const auto wanted = tensor_of(ScalarType::Float32, {1, 3, 2, 2});
  // Found by fuzzing: without any pixel there is nothing to resize.
  for (const char* empty : {"P6\n0 2\n255\n", "P6\n2 0\n255\n"}) {
    EXPECT_FALSE(tensor_of_file(wanted, "i.ppm", empty, {}).ok()) << empty;
  }
  EXPECT_EQ(tensor_of_file(wanted, "i.png", "nothing", {})
                .error()
                .message.find("no image that can be read"),
            0u);
  EXPECT_EQ(
      tensor_of_file(tensor_of(ScalarType::Float32, {1, 10}), "i.ppm", kImage, {}).error().message,
      "an image has three channels, or one, the input image is float32 1x10");
  ImageRule small;
  small.height = small.width = 1;
  EXPECT_EQ(tensor_of_file(wanted, "i.ppm", kImage, small).error().message,
            "the image is resized to 1x1, the input image is float32 1x3x2x2");
}

TEST(TensorFile, AnImageOfOneChannelIsItsBrightness) {
  const std::string image("P6\n1 2\n255\n\xff\x00\x00\x80\x80\x80", 17);
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{1, 1, 2, 1}, {1, 2, 1}, {1, 2, 1, 1}}) {
    const auto bytes = tensor_of_file(tensor_of(ScalarType::UInt8, shape), "i.ppm", image, {});
    ASSERT_TRUE(bytes.ok()) << bytes.error().text();
    EXPECT_EQ(*bytes, (std::vector<std::uint8_t>{76, 128})) << "as Pillow's";
  }
  const auto two = tensor_of_file(tensor_of(ScalarType::UInt8, {2, 3, 2, 1}), "i.ppm", image, {});
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.error().message, "an image is a batch of one, the input image is uInt8 2x3x2x1");
}

}  // namespace
}  // namespace fettle
