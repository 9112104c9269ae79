// The blobs that a request names, and images that are taken out of it.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "host/fleet/session_core.h"
#include "schemas/wire/content_hash.h"
#include "tests/fault/fleet_peers.h"

namespace fettle::fleet {
namespace {

TEST(Images, AreTakenOutAsBlobs) {
  auto request = small_request(1);
  const Bytes image(300, 7);
  request.program->images[0]->bytes = image;
  request.program->images[0]->blob.reset();
  const auto images = take_images_out(request);
  ASSERT_EQ(images.size(), 1u);
  EXPECT_EQ(images[0], image);
  EXPECT_TRUE(decode_request(encode(request)).ok());
  const auto blobs = blobs_of(request);
  ASSERT_EQ(blobs.size(), 1u);
  EXPECT_EQ(to_hex(blobs[0]), to_hex(content_hash(image)));
}

TEST(Requests, NameTheirBlobs) {
  const auto hash = [](std::uint8_t of) { return content_hash(Bytes{of}); };
  auto request = request_with_blob(hash(1));
  request.program->buffers[0]->fill = std::make_unique<wire::FillT>();
  request.program->buffers[0]->fill->kind = wire::FillKind::Blob;
  request.program->buffers[0]->fill->blob = std::make_unique<wire::Hash>(hash(2));
  request.program->images[0]->blob = std::make_unique<wire::Hash>(hash(3));
  const auto named = [&] {
    std::set<std::string> all;
    for (const wire::Hash& each : blobs_of(request)) all.insert(to_hex(each));
    return all;
  };
  EXPECT_EQ(named(), (std::set<std::string>{to_hex(hash(1)), to_hex(hash(2)), to_hex(hash(3))}));
  request.program->images[0]->blob = std::make_unique<wire::Hash>(hash(1));
  EXPECT_EQ(blobs_of(request).size(), 2u) << "each once";
}

}  // namespace
}  // namespace fettle::fleet
