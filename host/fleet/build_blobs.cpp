// Blobs of programs (build_blobs.h).
#include "host/fleet/build_blobs.h"

#include <set>
#include <utility>

namespace fettle::fleet {

BlobMap take_blobs_out(wire::ProgramT& program) {
  BlobMap blobs;
  const auto take = [&](Bytes& bytes, std::unique_ptr<wire::Hash>& name) {
    if (bytes.empty()) return;
    name = std::make_unique<wire::Hash>(content_hash(bytes));
    blobs.emplace(*name, std::exchange(bytes, {}));
  };
  for (const auto& image : program.images) take(image->bytes, image->blob);
  for (const auto& buffer : program.buffers) {
    if (buffer->fill) take(buffer->fill->bytes, buffer->fill->blob);
  }
  return blobs;
}

std::vector<wire::Hash> blobs_of(const wire::ProgramT& program) {
  std::set<wire::Hash, HashLess> hashes;
  for (const auto& image : program.images)
    if (image->blob) hashes.insert(*image->blob);
  for (const auto& buffer : program.buffers) {
    if (buffer->fill && buffer->fill->kind == wire::FillKind::Blob && buffer->fill->blob) {
      hashes.insert(*buffer->fill->blob);
    }
  }
  return {hashes.begin(), hashes.end()};
}

}  // namespace fettle::fleet
