// The broker's blobs by content hash: bounded, least recently used goes first, and each is
// charged to the client key that brought it, or for which a builder did, from its first piece on.
//
// What a pending request needs (a pin) stays, but for two cases: it was of no use for a long
// time, or its owner has more than its share while another has less and needs the room.
//
// A blob is kept as the encoded PutBlob messages that brought it, so that it goes
// to any number of agents without being copied or encoded again.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/fleet/trial.h"
#include "schemas/wire/content_hash.h"

namespace fettle::fleet {

// Whose connection brings a blob: a client's or a builder's.
struct Uploader {
  ClientId client = 0;
  AgentId agent = 0;
  static Uploader of_client(ClientId id) { return {id, 0}; }
  static Uploader builder(AgentId id) { return {0, id}; }
  auto operator<=>(const Uploader&) const = default;
};

struct StoredBlob {
  std::vector<SharedBytes> messages;  // its pieces, in order
  std::size_t bytes = 0;              // of these
};

class BlobStore {
 public:
  using Owner = std::string;  // public key of a client

  BlobStore(std::size_t capacity_bytes, milliseconds unused)
      : capacity_(capacity_bytes), unused_(unused) {}

  // One upload a connection at a time; beginning one ends what was under way.
  void begin(const Uploader& from, const Owner& owner, const wire::Hash& hash);
  // False: there is no room for the piece, and the upload is ended.
  bool add(const Uploader& from, SharedBytes piece, TimePoint now);
  bool uploading(const Uploader& from) const { return uploads_.count(from) != 0; }
  // All pieces were right: it is held now.
  void finish(const Uploader& from, TimePoint now);
  void abandon(const Uploader& from);
  // One that is held already from elsewhere; false: no room.
  bool put(const wire::Hash& hash, StoredBlob blob, const Owner& owner, TimePoint now);

  // What had to make room since the last call, though it was needed: pinned blobs, and uploads.
  struct Lost {
    wire::Hash hash;
    std::optional<Uploader> upload;  // it was this one's
    Owner owner;
  };
  std::vector<Lost> take_lost() { return std::exchange(lost_, {}); }

  // All that went since the last call.
  std::vector<wire::Hash> take_gone() { return std::exchange(gone_, {}); }

  // Null when it is not held; good until the next change. Counts as a use.
  const StoredBlob* get(const wire::Hash& hash, TimePoint now);
  bool holds(const wire::Hash& hash) const;
  const Owner& owner_of(const wire::Hash& hash) const { return entries_.at(hash).owner; }
  // Pins count; they may precede the blob itself.
  void pin(const wire::Hash& hash) { ++pins_[hash]; }
  void unpin(const wire::Hash& hash);
  std::size_t bytes() const { return bytes_; }
  std::size_t bytes_of(const Owner& owner) const;

 private:
  struct Entry {
    StoredBlob blob;
    Owner owner;
    TimePoint used;
    std::uint64_t order = 0;  // of the last use
  };
  struct Upload {
    wire::Hash hash;
    StoredBlob blob;
    Owner owner;
  };
  bool make_room(std::size_t wanted, const Owner& owner, TimePoint now);
  bool take_from_largest(const Owner& except);
  void evict(const wire::Hash& hash);
  void charge(const Owner& owner, std::size_t bytes);
  void refund(const Owner& owner, std::size_t bytes);
  void touch(const wire::Hash& hash, Entry& entry, TimePoint now);

  std::size_t capacity_, bytes_ = 0;
  milliseconds unused_;
  std::map<wire::Hash, Entry, HashLess> entries_;
  std::map<Uploader, Upload> uploads_;
  std::map<Owner, std::size_t> charged_;
  std::map<wire::Hash, std::size_t, HashLess> pins_;
  std::map<std::uint64_t, wire::Hash> uses_;  // least recent first
  std::uint64_t next_use_ = 1;
  std::vector<Lost> lost_;
  std::vector<wire::Hash> gone_;
};

}  // namespace fettle::fleet
