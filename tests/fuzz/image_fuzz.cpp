// Any bytes as a file of tensors: an image, .npy, .npz, as `fettle run` and fettle-run read them.
// The first byte says which.
#include <cstdlib>

#include "runtime/tensor_files/npy.h"
#include "runtime/tensor_files/tensor_file.h"
#include "runtime/tensor_files/zip.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/image_seeds.h"
#include "tests/fuzz/input_file.h"

using namespace fettle;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string contents(data + 1, data + size);
  wire::NetworkTensorT tensor;
  tensor.name = "x";
  tensor.dtype = wire::ScalarType::Float32;
  tensor.shape = {1, 3, 4, 4};
  const char* const names[] = {"x.ppm", "x.npy", "x.npz", "x.png"};
  const std::size_t which = data[0] % std::size(names);
  const auto bytes = tensor_of_file(tensor, names[which], contents, {});
  if (bytes && bytes->size() != 3 * 4 * 4 * 4) std::abort();
  if (which == 1) {
    if (const auto array = parse_npy(contents)) {
      const std::string again = npy_file(array->type, array->shape, array->bytes);
      const auto read = parse_npy(again);
      if (!read || read->bytes != array->bytes || read->shape != array->shape) std::abort();
    }
  }
  if (which == 2) {
    if (const auto entries = parse_zip(contents)) {
      const auto again = zip_archive(*entries);
      if (!again || !parse_zip(*again)) std::abort();
    }
  }
  return 0;
}

std::vector<Bytes> fuzz_seeds() {
  std::string ppm = "P6\n4 4\n255\n";
  for (int i = 0; i < 48; ++i) ppm += static_cast<char>(i * 5);
  const Bytes floats(3 * 4 * 4 * 4, 0);
  const std::int64_t shape[] = {1, 3, 4, 4};
  const std::string npy = npy_file(wire::ScalarType::Float32, shape, floats);
  const auto npz = zip_archive({{"x.npy", npy}, {"y.npy", npy}});
  if (!npz) std::abort();
  const auto picture = [](const auto& bytes) {
    return seed_of(3, std::string(std::begin(bytes), std::end(bytes)));
  };
  return {picture(kPng),
          picture(kPngPalette),
          picture(kJpeg),
          picture(kJpegProgressive),
          picture(kJpegDamaged),
          picture(kJpegHalves),
          picture(kJpegHalvesGrey),
          picture(kBmp),
          seed_of(0, ppm),
          seed_of(0, "P5\n2 2\n255\n\1\2\3\4"),
          seed_of(0, "P5\n2 2\n65535\n\1\2\3\4\5\6\7\10"),
          seed_of(1, npy),
          seed_of(2, *npz)};
}
