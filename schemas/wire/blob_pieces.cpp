// Cutting blobs and following their pieces (blob_pieces.h).
#include "schemas/wire/blob_pieces.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "schemas/wire/limits.h"

namespace fettle {

void for_each_piece(const wire::Hash& hash, ByteView bytes,
                    const std::function<void(wire::PutBlobT)>& give) {
  for (std::size_t at = 0; at < bytes.size(); at += limits::kPieceBytes) {
    const ByteView part = bytes.subspan(at, std::min(limits::kPieceBytes, bytes.size() - at));
    wire::PutBlobT piece;
    piece.hash = std::make_unique<wire::Hash>(hash);
    piece.bytes.assign(part.begin(), part.end());
    piece.offset = at;
    piece.total = bytes.size();
    give(std::move(piece));
  }
}

std::uint64_t total_bytes(const wire::PutBlobT& piece) {
  return piece.total == 0 ? piece.bytes.size() : piece.total;
}

Result<void> check_piece(const wire::PutBlobT& piece) {
  const std::uint64_t total = total_bytes(piece);
  if (total > limits::kBlobBytes) {
    return Error{ErrorCode::TooLarge, "a blob of " + std::to_string(total) + " bytes"};
  }
  const bool fits =
      piece.offset < total && piece.offset % limits::kPieceBytes == 0 &&
      piece.bytes.size() == std::min<std::uint64_t>(limits::kPieceBytes, total - piece.offset);
  if (fits) return {};
  return Error{ErrorCode::Malformed, "a piece of " + std::to_string(piece.bytes.size()) +
                                         " bytes at " + std::to_string(piece.offset) +
                                         " of a blob of " + std::to_string(total)};
}

Result<bool> BlobPieces::take(const wire::PutBlobT& piece) {
  if (piece.offset == 0) {
    hash_ = *piece.hash;
    total_ = total_bytes(piece);
    received_ = 0;
  }
  const bool same = hash_ && std::memcmp(&*hash_, piece.hash.get(), sizeof(wire::Hash)) == 0;
  if (!same || piece.offset != received_ || total_bytes(piece) != total_) {
    hash_.reset();
    return Error{ErrorCode::Malformed, "a piece at " + std::to_string(piece.offset) +
                                           " does not go on where the one before ended"};
  }
  received_ += piece.bytes.size();
  if (received_ < total_) return false;
  hash_.reset();
  return true;
}

}  // namespace fettle
