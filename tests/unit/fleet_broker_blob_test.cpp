// Blobs on their way through the broker, in pieces: whole and in order, or not at all.
#include "schemas/wire/blob_pieces.h"
#include "tests/unit/broker_fixture.h"

namespace fettle::fleet {
namespace {

constexpr std::size_t kPiece = limits::kPieceBytes;

BrokerLimits roomy() {
  BrokerLimits limits;
  limits.blob_bytes = 8 * kPiece;
  return limits;
}

class BrokerBlobTest : public BrokerTest {
 protected:
  BrokerBlobTest() : BrokerTest(roomy()) {
    agent("a", 1, "board");
    client("c", 10);
    open("c", 5);
  }
  static Bytes blob(std::size_t bytes, std::uint8_t seed) {
    Bytes out(bytes);
    for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::uint8_t>(i / 1000 + seed);
    return out;
  }
  static std::vector<wire::PutBlobT> pieces_of(const Bytes& bytes) {
    std::vector<wire::PutBlobT> pieces;
    for_each_piece(content_hash(bytes), bytes,
                   [&](wire::PutBlobT piece) { pieces.push_back(std::move(piece)); });
    return pieces;
  }
  void put(const wire::PutBlobT& piece) { say("c", kClient, piece); }
  std::uint64_t malformed() const { return core.counters().malformed.load(); }
};

// Found by the fleet's simulator: a client that lost its connection canceled what waited for a
// blob, and nobody asked it for that blob again.
TEST_F(BrokerTest, ABlobIsAskedForAgainOverTheNextConnection) {
  const wire::Hash hash = content_hash(Bytes(100, 7));
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1, {hash});
  submit("c", 5, 2, {hash});
  EXPECT_EQ(take<wire::BlobsWantedT>("c").size(), 1u);
  core.unreachable("c", now);
  client("d", 10);
  submit("d", 5, 3, {hash});  // and never 1 or 2 again
  EXPECT_EQ(take<wire::BlobsWantedT>("d").size(), 1u);
  submit("d", 5, 1, {hash});
  submit("d", 5, 2, {hash});
  EXPECT_TRUE(take<wire::BlobsWantedT>("d").empty()) << "once is enough: it may be large";
}

TEST_F(BrokerBlobTest, PiecesArriveAsTheyWereSent) {
  const Bytes bytes = blob(2 * kPiece + 5, 1);
  submit("c", 5, 1, {content_hash(bytes)});
  const auto pieces = pieces_of(bytes);
  ASSERT_EQ(pieces.size(), 3u);
  for (const auto& piece : pieces) {
    EXPECT_TRUE(take<wire::PutBlobT>("a").empty()) << "only a whole one goes on";
    put(piece);
  }
  Bytes arrived;
  for (const auto& piece : take<wire::PutBlobT>("a")) {
    EXPECT_LE(piece.bytes.size(), kPiece);
    EXPECT_EQ(piece.offset, arrived.size());
    EXPECT_EQ(piece.total, bytes.size());
    arrived.insert(arrived.end(), piece.bytes.begin(), piece.bytes.end());
  }
  EXPECT_EQ(arrived, bytes);
  EXPECT_EQ(assigned("a").size(), 1u);
}

TEST_F(BrokerBlobTest, APieceOutOfItsPlaceVoidsWhatCameBefore) {
  const Bytes bytes = blob(3 * kPiece, 1), other = blob(3 * kPiece, 2);
  submit("c", 5, 1, {content_hash(bytes), content_hash(other)});
  const auto pieces = pieces_of(bytes), others = pieces_of(other);
  const auto with_total = [](wire::PutBlobT piece, std::uint64_t total) {
    piece.total = total;
    return piece;
  };
  const std::vector<std::vector<wire::PutBlobT>> hostile = {
      {pieces[0], pieces[2]},                              // one left out
      {pieces[0], pieces[1], pieces[1]},                   // one twice
      {pieces[1]},                                         // no beginning
      {pieces[0], others[1]},                              // of another blob
      {pieces[0], with_total(pieces[1], 3 * kPiece + 1)},  // longer than it was
  };
  for (const auto& sent : hostile) {
    const auto before = malformed();
    for (const auto& piece : sent) put(piece);
    EXPECT_EQ(malformed(), before + 1);
    put(pieces[2]);  // does not go on
    EXPECT_EQ(malformed(), before + 2);
    EXPECT_TRUE(assigned("a").empty());
  }
  for (const auto& piece : pieces) put(piece);
  for (const auto& piece : others) put(piece);
  EXPECT_EQ(assigned("a").size(), 1u) << "and it goes on";
}

TEST_F(BrokerBlobTest, AWholeOfOtherBytesIsRefused) {
  const Bytes bytes = blob(2 * kPiece, 1);
  submit("c", 5, 1, {content_hash(bytes)});
  auto pieces = pieces_of(bytes);
  pieces[1].bytes[7] ^= 1;
  for (const auto& piece : pieces) put(piece);
  EXPECT_EQ(malformed(), 1u);
  EXPECT_TRUE(assigned("a").empty());
  pieces[1].bytes[7] ^= 1;
  for (const auto& piece : pieces) put(piece);
  EXPECT_EQ(assigned("a").size(), 1u);
}

TEST_F(BrokerBlobTest, OneThatNoStoreHoldsFailsAtItsFirstPiece) {
  const Bytes bytes = blob(9 * kPiece, 1);
  submit("c", 5, 1, {content_hash(bytes)});
  const auto pieces = pieces_of(bytes);
  put(pieces[0]);
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(failure_of(completed[0]), ErrorCode::TooLarge);
  put(pieces[1]);
  EXPECT_EQ(malformed(), 0u) << "the rest was on its way already";
}

// A connection that broke in the middle: the client begins again.
TEST_F(BrokerBlobTest, BeginningAgainIsFine) {
  const Bytes bytes = blob(2 * kPiece, 1);
  submit("c", 5, 1, {content_hash(bytes)});
  const auto pieces = pieces_of(bytes);
  put(pieces[0]);
  put(pieces[0]);
  put(pieces[1]);
  EXPECT_EQ(malformed(), 0u);
  EXPECT_EQ(assigned("a").size(), 1u);
}

}  // namespace
}  // namespace fettle::fleet
