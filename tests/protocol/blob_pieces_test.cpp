// Pieces of blobs: what decoders let through, and that hashes of parts are hashes.
#include <gtest/gtest.h>

#include "schemas/wire/blob_pieces.h"
#include "schemas/wire/limits.h"

namespace fettle {
namespace {

constexpr std::size_t kPiece = limits::kPieceBytes;

Result<wire::MessageT> sent(std::size_t bytes, std::uint64_t offset, std::uint64_t total) {
  wire::PutBlobT piece;
  piece.hash = std::make_unique<wire::Hash>();
  piece.bytes = Bytes(bytes, 1);
  piece.offset = offset;
  piece.total = total;
  return decode_message(encode(message_of(std::move(piece))));
}

TEST(BlobPieces, HostilePiecesAreRefused) {
  EXPECT_TRUE(sent(5, 0, 0).ok());
  EXPECT_TRUE(sent(5, 0, 5).ok());
  EXPECT_TRUE(sent(kPiece, 0, 10 * kPiece).ok());
  EXPECT_TRUE(sent(1, kPiece, kPiece + 1).ok());
  const struct {
    std::size_t bytes;
    std::uint64_t offset, total;
  } hostile[] = {
      {0, 0, 0},                             // nothing
      {0, 0, 5},                             // nothing of something
      {kPiece + 1, 0, 0},                    // too long
      {kPiece + 1, 0, kPiece + 1},           //
      {4, 0, 5},                             // shorter than it could be
      {6, 0, 5},                             // longer than the whole
      {1, 1, 2},                             // at a place where none begins
      {5, kPiece, kPiece},                   // behind the end
      {kPiece, kPiece, kPiece + 1},          // beyond the end
      {kPiece, ~std::uint64_t{0} << 20, 5},  // far behind it
      {kPiece, 0, ~std::uint64_t{0}},        // of more than can be
      {kPiece, ~std::uint64_t{0} << 20, ~std::uint64_t{0}},
      {kPiece, 0, limits::kBlobBytes + 1},
  };
  for (const auto& row : hostile) {
    EXPECT_FALSE(sent(row.bytes, row.offset, row.total).ok())
        << row.bytes << " at " << row.offset << " of " << row.total;
  }
}

TEST(BlobPieces, EveryPieceFitsIntoAMessage) {
  for (const std::size_t size : {std::size_t{1}, kPiece - 1, kPiece, kPiece + 1, 3 * kPiece}) {
    Bytes blob(size, 3);
    blob.back() = 4;
    BlobPieces pieces;
    ContentHasher hasher;
    Bytes whole;
    bool last = false;
    for_each_piece(content_hash(blob), blob, [&](wire::PutBlobT piece) {
      EXPECT_FALSE(last);
      EXPECT_TRUE(check_piece(piece).ok());
      EXPECT_LE(encode(message_of(piece)).size(), limits::kSocketBytes);
      last = pieces.take(piece).value();
      hasher.add(piece.bytes);
      whole.insert(whole.end(), piece.bytes.begin(), piece.bytes.end());
    });
    EXPECT_TRUE(last) << size;
    EXPECT_EQ(whole, blob);
    EXPECT_EQ(to_hex(hasher.end()), to_hex(content_hash(blob)));
  }
}

}  // namespace
}  // namespace fettle
