// Blobs travel in pieces, so that no message is long: the others of a connection need not
// wait for a whole blob, and a receiver bounds what one message may be.
#pragma once

#include <functional>
#include <optional>

#include "schemas/wire/content_hash.h"

namespace fettle {

// Gives the blob's pieces in order: of limits::kPieceBytes, the last one of the rest.
void for_each_piece(const wire::Hash& hash, ByteView bytes,
                    const std::function<void(wire::PutBlobT)>& give);

// Malformed: no piece that for_each_piece makes. decode_message asks it.
Result<void> check_piece(const wire::PutBlobT& piece);

// How many bytes the whole blob has.
std::uint64_t total_bytes(const wire::PutBlobT& piece);

// The order of pieces over one connection, which bring one blob at a time. The first piece of
// a blob ends what was under way.
class BlobPieces {
 public:
  // Takes the next piece, which was checked. True: the last of its blob. Malformed: it does
  // not go on where the one before ended; nothing is under way then.
  Result<bool> take(const wire::PutBlobT& piece);
  // What is under way.
  std::optional<wire::Hash> hash() const { return hash_; }

 private:
  std::optional<wire::Hash> hash_;
  std::uint64_t total_ = 0, received_ = 0;
};

}  // namespace fettle
