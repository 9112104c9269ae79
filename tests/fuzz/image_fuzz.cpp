// Any bytes as a file of tensors: an image, .npy, .npz, as `fettle run` and fettle-run read them.
// The first byte says which.
#include <cstdlib>

#include "runtime/tensor_files/npy.h"
#include "runtime/tensor_files/stb_parts.h"
#include "runtime/tensor_files/tensor_file.h"
#include "runtime/tensor_files/zip.h"
#include "tests/fuzz/fuzz_target.h"
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
  // One red pixel.
  const std::uint8_t png[] = {
      0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48,
      0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00,
      0x00, 0x90, 0x77, 0x53, 0xde, 0x00, 0x00, 0x00, 0x0c, 0x49, 0x44, 0x41, 0x54, 0x08,
      0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0x00, 0x00, 0x03, 0x01, 0x01, 0x00, 0x18, 0xdd, 0x8d,
      0xb0, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
  const Bytes floats(3 * 4 * 4 * 4, 0);
  const std::int64_t shape[] = {1, 3, 4, 4};
  const std::string npy = npy_file(wire::ScalarType::Float32, shape, floats);
  const auto npz = zip_archive({{"x.npy", npy}, {"y.npy", npy}});
  if (!npz) std::abort();
  return {seed_of(0, ppm),
          seed_of(0, "P5\n2 2\n255\n\1\2\3\4"),
          seed_of(0, "P5\n2 2\n65535\n\1\2\3\4\5\6\7\10"),
          seed_of(1, npy),
          seed_of(2, *npz),
          seed_of(3, std::string(std::begin(png), std::end(png)))};
}
