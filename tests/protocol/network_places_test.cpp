// Where blobs lie in a network file: places that only a file of another's making has.
#include <gtest/gtest.h>

#include "schemas/network/check_network.h"
#include "tests/protocol/network_samples.h"

namespace fettle {
namespace {

TEST(NetworkPlaces, OutOfOrderOverlappingUnalignedOrOutside) {
  const Bytes file = network_file_of(sample_network());
  const auto network = read_network_file(file);
  ASSERT_TRUE(network.ok());
  const std::uint64_t first = network->blobs[0]->offset, second = network->blobs[1]->offset;
  const struct {
    std::uint64_t first, second, bytes;
    const char* says;
  } rows[] = {
      {first, second, 200, nullptr},
      {first + 8, second, 200, "blob 0 is not aligned to 64"},
      {0, second, 200, "blob 0 lies over what is before it"},
      {second, first, 200, "blob 0 does not end within the file"},
      {first + 64, first, 200, "blob 1 lies over what is before it"},
      {first, first + 576, 200, "blob 1 lies over what is before it"},
      {first, second, 201, "blob 1 does not end within the file"},
      {first, ~std::uint64_t{63}, 200, "blob 1 does not end within the file"},
      {first, second, 0, "blob 1 is empty"},
      {first, second, std::uint64_t{5} << 30, "blob 1 is too large"},
  };
  for (const auto& row : rows) {
    auto changed = read_network_file(file);
    changed->blobs[0]->offset = row.first;
    changed->blobs[1]->offset = row.second;
    changed->blobs[1]->bytes = row.bytes;
    auto checked = check_network(*changed, first - 1, file.size());
    ASSERT_EQ(checked.ok(), row.says == nullptr);
    if (row.says) {
      EXPECT_EQ(checked.error().message, row.says);
    }
  }
  auto twice = read_network_file(file);
  *twice->blobs[1]->hash = *twice->blobs[0]->hash;
  EXPECT_EQ(check_network(*twice, first - 1, file.size()).error().message,
            "blob 1 has the hash of another");
}

}  // namespace
}  // namespace fettle
